// Products of stacks of matrices: how their memory is described to either device, and the CPU's loops.
#pragma once

#include <tally/core/device.h>
#include <tally/core/strided.h>
#include <tally/core/tensor.h>

namespace tally::detail {

/// One stack of matrices as a product reads it: dense rows `row` apart, or, if transposed, dense columns `row` apart.
struct MatrixLayout {
  bool transposed = false;
  std::int64_t row = 1;
};

/// `x` itself where its rows or its columns are dense, else a dense copy (not recorded).
Tensor as_matrices(const Tensor& x);

/// C[..., m, n] = A[..., m, k] · B[..., k, n]. Plain data: valid as long as the memory is.
struct Product {
  /// `out` dense, `a` and `b` from as_matrices, all of one dtype and with the same leading dims.
  Product(const Tensor& out, const Tensor& a, const Tensor& b);

  std::int64_t m, n, k;
  const void *a, *b;
  void* c;
  MatrixLayout a_layout, b_layout;
  DType dtype;
  Strided<3> stack;  // places of the matrices of c, a, b
};

/// Runs a float32 or float64 product on the CPU's threads. Its bits do not depend on how many there are.
void multiply(const Product& product);

/// run() on the product out = a · b, with dense copies of `a` and `b` where they need it, and float32 copies of halves.
void matmul_by(void (*run)(const Product&), const Tensor& out, const Tensor& a, const Tensor& b);

/// out = a · b, for any strides of `a` and `b` and any floating dtype; halves accumulate in float32.
void matmul(Cpu, const Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace tally::detail
