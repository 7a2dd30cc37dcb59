// The CUDA side of the elementwise loops: one function a group of ops, so that each group compiles on its own.
#pragma once

#include <tally/ops/binary_ops.h>
#include <tally/ops/elementwise_loop.h>
#include <tally/ops/unary_ops.h>

namespace tally::detail {

/// out = f(inputs...), each input of dtype `dtype` (where's condition: bool). `out` is not empty.
void elementwise(Cuda, const LoopsOf<Forward, ops::Unary>& f, const Tensor& out, const Inputs<1>& inputs, DType dtype);
void elementwise(Cuda, const LoopsOf<Pull, ops::Unary>& f, const Tensor& out, const Inputs<2>& inputs, DType dtype);
void elementwise(Cuda, const LoopsOf<Forward, ops::Predicate>& f, const Tensor& out, const Inputs<1>& inputs,
                 DType dtype);
void elementwise(Cuda, const LoopsOf<Forward, ops::Binary>& f, const Tensor& out, const Inputs<2>& inputs, DType dtype);
void elementwise(Cuda, const LoopsOf<PullLeft, ops::Binary>& f, const Tensor& out, const Inputs<3>& inputs,
                 DType dtype);
void elementwise(Cuda, const LoopsOf<PullRight, ops::Binary>& f, const Tensor& out, const Inputs<3>& inputs,
                 DType dtype);
void elementwise(Cuda, const LoopsOf<Forward, ops::Comparison>& f, const Tensor& out, const Inputs<2>& inputs,
                 DType dtype);
void elementwise(Cuda, const Forward<ops::AddScaled>& f, const Tensor& out, const Inputs<2>& inputs, DType dtype);
void elementwise(Cuda, const Forward<ops::Choose>& f, const Tensor& out, const Inputs<3>& inputs, DType dtype);

}  // namespace tally::detail
