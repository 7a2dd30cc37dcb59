// The CPU's loops of ops/index.h.
#pragma once

#include <tally/core/device.h>
#include <tally/core/tensor.h>

namespace tally::detail {

/// The one text for a position out of range, on either device.
[[noreturn]] void throw_bad_index(const char* op, std::int64_t value, std::int64_t size, std::int64_t place,
                                  Where where);

// `index` has the shape of the tensor on the other side of `dim` and the strides of a dense int64 tensor, or stride 0
// in all dims but `dim`: the same positions for all. An offset in it is the place that an error names.

/// y[..., p, ...] = x[..., index[..., p, ...], ...]; shapes differ in `dim` only.
void gather(Cpu, const char* op, const Tensor& y, const Tensor& x, const Tensor& index, int dim, Where where);

/// out[..., j, ...] = the sum of all grad[..., p, ...] with index[..., p, ...] = j. All dense; positions were checked.
void scatter_add(Cpu, const Tensor& out, const Tensor& grad, const Tensor& index, int dim);

/// y[i, labels[i]] = 1; y [n, classes] is zeros, labels dense.
void mark(Cpu, const char* op, const Tensor& y, const Tensor& labels, Where where);

}  // namespace tally::detail
