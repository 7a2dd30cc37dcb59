// What else is timed beside Tally's kernels on the device: CUB, and a plain read. float32, all elements.
#pragma once

#include <cstdint>

#include <tally/core/tensor.h>

namespace tally::bench {

/// Reads all of `x` with 16-byte loads. `sink` is never written.
void plain_read(const Tensor& x, const Tensor& sink);

enum class Cub { sum, max, argmax, squares };
/// Scratch memory for cub() on n elements.
std::size_t cub_scratch(Cub what, std::int64_t n);
void cub(Cub what, const Tensor& x, const Tensor& result, const Tensor& scratch);
/// The sums of rows of equal length, as segments.
std::size_t cub_rows_scratch(std::int64_t rows, std::int64_t columns);
void cub_rows(const Tensor& x, const Tensor& result, const Tensor& scratch);

}  // namespace tally::bench
