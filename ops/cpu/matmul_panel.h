// The product of panels, compiled once per instruction set (isa_matmul.cpp). No inline function here: one compiled for
// a newer processor could replace the others' at link time.
#pragma once

#include <cstdint>

namespace tally::detail {

/// C = A·B: C [m, n] row-major with rows `c_row` apart; A [m, k] and B [k, n] with rows `*_row` apart, or, where
/// `*_transposed`, with columns that far apart. All of one type, float or double.
struct Panel {
  std::int64_t m, n, k;
  const void *a, *b;
  void* c;
  std::int64_t a_row, b_row, c_row;
  bool a_transposed, b_transposed;
  bool is_double;
};

void multiply_baseline(const Panel& panel);
void multiply_avx2(const Panel& panel);
void multiply_avx512(const Panel& panel);

}  // namespace tally::detail
