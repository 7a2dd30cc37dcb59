#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include <tally/core/error.h>
#include <tally/examples/support/digits.h>

namespace tally::examples {
namespace {

// The counts, sums and first image were read from scikit-learn's load_digits.
TEST(Digits, AreTheUciSet) {
  const ImageSet digits = load_digits();
  EXPECT_EQ(digits.count, 1797);
  EXPECT_EQ(digits.rows, 8);
  EXPECT_EQ(digits.cols, 8);
  const std::vector<std::uint8_t> first{0, 0,  5, 13, 9,  1, 0,  0, 0,  0,  13, 15, 10, 15, 5, 0,  0,  3, 15, 2, 0,  11,
                                        8, 0,  0, 4,  12, 0, 0,  8, 8,  0,  0,  5,  8,  0,  0, 9,  8,  0, 0,  4, 11, 0,
                                        1, 12, 7, 0,  0,  2, 14, 5, 10, 12, 0,  0,  0,  0,  6, 13, 10, 0, 0,  0};
  EXPECT_TRUE(std::equal(first.begin(), first.end(), digits.pixels.begin()));
  EXPECT_EQ(std::accumulate(digits.pixels.begin(), digits.pixels.end(), 0), 561718);
  EXPECT_EQ(*std::max_element(digits.pixels.begin(), digits.pixels.end()), 16);
  std::vector<int> of_class(10);
  for (const auto label : digits.labels) ++of_class[label];
  EXPECT_EQ(of_class, (std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
}

TEST(Digits, SplitFollowsThePermutation) {
  std::vector<std::int64_t> backwards(kDigitsCount);
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  const ImageSet all = load_digits();
  const ImageData data = load_digits(backwards);
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.train.count, 1437);
  EXPECT_EQ(data.test.count, 360);
  EXPECT_EQ(data.train.labels.front(), all.labels.back());
  EXPECT_EQ(data.test.labels.back(), all.labels.front());
  EXPECT_TRUE(std::equal(all.pixels.begin(), all.pixels.begin() + 64, data.test.pixels.end() - 64));
}

TEST(Digits, SplitNeedsAPermutation) {
  std::vector<std::int64_t> indices(kDigitsCount);
  std::iota(indices.begin(), indices.end(), 0);
  indices[5] = 6;
  EXPECT_THROW(load_digits(indices), ShapeError);
  indices[5] = kDigitsCount;
  EXPECT_THROW(load_digits(indices), ShapeError);
  indices.pop_back();
  EXPECT_THROW(load_digits(indices), ShapeError);
}

}  // namespace
}  // namespace tally::examples
