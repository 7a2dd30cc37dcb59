// What bench_reductions measures: one op on one tensor. A grid is a text file of them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <tally/core/dims.h>
#include <tally/core/dtype.h>
#include <tally/core/shape.h>

namespace tally::bench {

struct Case {
  std::string op;
  Shape shape;
  std::vector<std::int64_t> dims;  // none: all
  DType dtype = float32;
  bool backward = false;    // forward and backward through autograd
  std::int64_t offset = 0;  // elements by which the view is shifted, so that it is not aligned

  Dims reduced() const { return Dims(dims); }
  /// Of the input.
  std::int64_t bytes() const { return shape.numel() * static_cast<std::int64_t>(size_of(dtype)); }
};

/// "8192x8192", "all" or "0,2,3", "bfloat16". std::invalid_argument with the text for anything else.
Shape parse_shape(const std::string& text);
std::vector<std::int64_t> parse_dims(const std::string& text, int rank);
DType parse_dtype(const std::string& text);

/// One line of a grid, "8192x8192 1 float32 sum,amax [backward] [offset=1]": a case for each op. None for a blank line
/// and for a comment, from # to the end of the line.
std::vector<Case> parse_line(const std::string& line);
std::vector<Case> parse_grid(std::istream& in);
/// The line that gives this case back.
std::string to_line(const Case& one);

/// `count` cases off the beaten track, each seed its own: odd sizes, primes, 7x7 images, 50257 columns, few columns,
/// views that are not aligned, 16-bit floats. None is larger than `largest` elements.
std::vector<Case> random_cases(int count, std::uint64_t seed, std::int64_t largest);

}  // namespace tally::bench
