#include <tally/examples/support/digits.h>

#include <cstddef>

#include <tally/nn/data/idx.h>

namespace tally::examples {

extern const unsigned char digits_gz[];  // written by examples/data/embed.cmake
extern const std::size_t digits_gz_size;

ImageSet load_digits() {
  const FileSite site{"load_digits", "the embedded digits", {}};
  ByteStream stream(std::as_bytes(std::span(digits_gz, digits_gz_size)), site);
  ImageSet set = read_idx(stream);
  check_labels(set, kDigitsClasses, site);
  return set;
}

ImageData load_digits(std::span<const std::int64_t> permutation) {
  return split(load_digits(), permutation, kDigitsTrainCount, kDigitsClasses);
}

}  // namespace tally::examples
