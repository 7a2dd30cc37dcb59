// Which elements make up which list: the shape rule of every reduction, and its errors. Knows no device.
#pragma once

#include <tally/core/dims.h>
#include <tally/core/strided.h>
#include <tally/core/tensor.h>

namespace tally {

/// The lists of a reduction over one tensor. Plain data, so a kernel takes it by value. Offsets in elements from the
/// tensor's first: element i of list o lies at kept.offsets(o) + reduced.offsets(i).
struct Lists {
  Strided<1> kept, reduced;
  std::int64_t outputs() const { return kept.count; }
  std::int64_t length() const { return reduced.count; }
};

struct ReducePlan {
  Lists lists;
  Shape shape;       // of the result
  Shape kept_shape;  // of the result with reduced dims as size 1: broadcasts against the input
};

/// Throws IndexError for a dim out of range, ShapeError for one listed twice.
ReducePlan plan_reduction(const char* op, const Tensor& x, const Dims& dims, KeepDim keep, Where where);

/// One walk over all elements of x for backward: operands are x, a dense gradient of its shape, the index of the list
/// an element is in, its index in that list, and the list's first element in x.
Strided<5> plan_backward(const Tensor& x, const Shape& kept_shape);

}  // namespace tally
