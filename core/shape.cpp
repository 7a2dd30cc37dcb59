#include <tally/core/shape.h>

#include <algorithm>

#include <tally/core/error.h>

namespace tally {
namespace {

void require_room(std::size_t count) {
  if (count > kMaxDims)
    throw ShapeError("shape",
                     "a tensor has at most " + std::to_string(kMaxDims) + " dims, not " + std::to_string(count), {});
}

}  // namespace

Shape::Shape(const std::int64_t* sizes, std::size_t count) {
  require_room(count);
  std::copy_n(sizes, count, sizes_);
  rank_ = static_cast<int>(count);
}

void Shape::push_back(std::int64_t size) { insert(rank_, size); }

void Shape::insert(int position, std::int64_t size) {
  require_room(static_cast<std::size_t>(rank_) + 1);
  std::move_backward(sizes_ + position, sizes_ + rank_, sizes_ + rank_ + 1);
  sizes_[position] = size;
  ++rank_;
}

void Shape::erase(int position) {
  std::move(sizes_ + position + 1, sizes_ + rank_, sizes_ + position);
  --rank_;
}

std::int64_t Shape::numel() const {
  std::int64_t count = 1;
  bool overflow = false, zero = false;
  for (std::int64_t size : *this) {
    zero |= size == 0;
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  if (zero) return 0;
  if (overflow) throw ShapeError("shape", to_string(*this) + " has more elements than 63 bits count", {});
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides = shape;
  std::uint64_t stride = 1;  // unsigned: where nothing is stored, the other sizes may be any
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b, Where where) {
  if (a == b) return a;
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const int lead = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    std::int64_t& size = result[lead + i];
    if (size == shorter[i] || shorter[i] == 1) continue;
    if (size != 1) throw ShapeError(op, "shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast", where);
    size = shorter[i];
  }
  return result;
}

}  // namespace tally
