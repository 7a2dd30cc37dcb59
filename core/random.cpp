#include <tally/core/random.h>

#include <cmath>
#include <numeric>

#include <tally/core/cuda/random.h>
#include <tally/core/draw.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

// Fills dense memory with draw(i) for each element.
template <class Draw> void fill_with(const Tensor& target, const Draw& draw) {
  visit(target.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) {
      T* out = target.data<T>();
      parallel_for(target.numel(), 1 << 13, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) out[i] = draw(tag, i);
      });
    }
  });
}

int words_per_element(const Tensor& target, bool normal) {
  return (target.dtype() == float64 ? 2 : 1) * (normal ? 2 : 1);
}

void fill(const Tensor& target, Generator& generator, bool normal) {
  if (!is_floating(target.dtype()))
    throw DTypeError("random", "draws floats, not " + std::string(name_of(target.dtype())), {});
  const std::uint64_t start = generator.take(target.numel() * words_per_element(target, normal));
  if (target.numel() == 0) return;
  if (!target.is_contiguous()) {
    Tensor dense = empty(target.shape(), {.dtype = target.dtype(), .device = target.device()});
    generator.set_offset(start);
    fill(dense, generator, normal);
    return raw::copy(target, dense);
  }
  on(target.device(), [&](auto backend) {
    if constexpr (std::is_same_v<decltype(backend), Cpu>) {
      const auto words = [seed = generator.seed()](std::uint64_t counter) { return philox(seed, counter); };
      if (normal)
        fill_with(target,
                  [&](auto tag, std::int64_t i) { return normal_at<typename decltype(tag)::type>(words, start, i); });
      else
        fill_with(target,
                  [&](auto tag, std::int64_t i) { return uniform_at<typename decltype(tag)::type>(words, start, i); });
    } else {
      gpu::fill_random(target, generator.seed(), start, normal);
    }
  });
}

}  // namespace

Generator& default_generator() {
  thread_local Generator generator{0};
  return generator;
}

void manual_seed(std::uint64_t seed) { default_generator() = Generator(seed); }

void fill_uniform(const Tensor& target, Generator& generator) { fill(target, generator, false); }
void fill_normal(const Tensor& target, Generator& generator) { fill(target, generator, true); }

std::vector<std::int64_t> permutation(std::int64_t n, Generator& generator) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t start = generator.take(4 * n);
  for (std::int64_t i = n - 1; i > 0; --i) {
    const Words4 words = philox(generator.seed(), start + static_cast<std::uint64_t>(i));
    const std::uint64_t draw = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
    const std::int64_t j =
        static_cast<std::int64_t>(static_cast<unsigned __int128>(draw) * static_cast<std::uint64_t>(i + 1) >> 64);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

}  // namespace tally
