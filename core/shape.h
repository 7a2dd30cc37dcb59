// The extents of a tensor, outermost first. Held inline: no allocation per tensor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <tally/core/where.h>

namespace tally {

/// The most dims a tensor can have; more throws ShapeError.
inline constexpr int kMaxDims = 8;

/// A short list of extents or strides. Value type; equal by value.
class Shape {
 public:
  /// 0-d, or from sizes. More than kMaxDims are a ShapeError.
  constexpr Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(sizes.begin(), sizes.size()) {}
  Shape(const std::vector<std::int64_t>& sizes)
      : Shape(sizes.data(), sizes.size()) {}  // NOLINT: a list of sizes is a shape
  Shape(const std::int64_t* sizes, std::size_t count);

  /// How many dims; each by its place, 0 to size() - 1, unchecked.
  int size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](int i) const { return sizes_[i]; }
  std::int64_t& operator[](int i) { return sizes_[i]; }
  const std::int64_t* begin() const { return sizes_; }
  const std::int64_t* end() const { return sizes_ + rank_; }
  /// At the end, before `position`, and without it. ShapeError beyond kMaxDims.
  void push_back(std::int64_t size);
  void insert(int position, std::int64_t size);
  void erase(int position);

  /// The product of all sizes; 1 for a 0-d shape. Throws ShapeError where it does not fit 63 bits.
  std::int64_t numel() const;

  /// The same dims in the same order.
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.sizes_[i] != b.sizes_[i]) return false;
    return true;
  }

 private:
  std::int64_t sizes_[kMaxDims] = {};
  int rank_ = 0;
};

/// "[2, 3]"; "[]" for a 0-d shape.
std::string to_string(const Shape& shape);

/// Row-major strides in elements.
Shape contiguous_strides(const Shape& shape);

/// The shape both broadcast to: aligned at the last dim, sizes equal or 1. Throws ShapeError in the name of `op`.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b, Where where);

}  // namespace tally
