// One-sided elementwise ops, on any strided view, on both devices, with gradient; second derivatives are whole.
// NaN passes through all of them. The functions of analysis take integers and bool as float32; the others keep them,
// and integers wrap.
#pragma once

#include <tally/core/tensor.h>

namespace tally {

/// DTypeError for bool (use logical_not).
Tensor neg(const Tensor& x, Where where = Where::here());
/// Gradient 0 at 0.
Tensor abs(const Tensor& x, Where where = Where::here());
/// -1, 0 or 1; gradient 0.
Tensor sign(const Tensor& x, Where where = Where::here());
/// Bool gives int64.
Tensor square(const Tensor& x, Where where = Where::here());
/// x < 0 ? 0 : x; gradient 0 at 0.
Tensor relu(const Tensor& x, Where where = Where::here());
/// Cut to [low, high]; the gradient passes on the bounds. Real bounds make an integer tensor float32. ValueError unless
/// low <= high.
Tensor clamp(const Tensor& x, Number low, Number high, Where where = Where::here());

// To whole numbers, of the same dtype; gradient 0. round takes halves to the even neighbour.
Tensor floor(const Tensor& x, Where where = Where::here());
Tensor ceil(const Tensor& x, Where where = Where::here());
Tensor round(const Tensor& x, Where where = Where::here());

// The functions of core/math.h: errors and special values stand there.
Tensor exp(const Tensor& x, Where where = Where::here());
/// e^x - 1.
Tensor expm1(const Tensor& x, Where where = Where::here());
Tensor log(const Tensor& x, Where where = Where::here());
/// log(1 + x).
Tensor log1p(const Tensor& x, Where where = Where::here());
/// Gradient inf at 0.
Tensor sqrt(const Tensor& x, Where where = Where::here());
/// 1 / sqrt(x), each step rounded.
Tensor rsqrt(const Tensor& x, Where where = Where::here());
Tensor reciprocal(const Tensor& x, Where where = Where::here());
Tensor sin(const Tensor& x, Where where = Where::here());
Tensor cos(const Tensor& x, Where where = Where::here());
Tensor tanh(const Tensor& x, Where where = Where::here());
Tensor erf(const Tensor& x, Where where = Where::here());

/// 1 / (1 + e^-x).
Tensor sigmoid(const Tensor& x, Where where = Where::here());
/// log(1 + e^x).
Tensor softplus(const Tensor& x, Where where = Where::here());
/// x sigmoid(x). Elfwing, Uchibe, Doya: Sigmoid-Weighted Linear Units, 2017.
Tensor silu(const Tensor& x, Where where = Where::here());
/// x Phi(x), Phi the normal distribution by the exact error function. Hendrycks, Gimpel: Gaussian Error Linear Units,
/// 2016.
Tensor gelu(const Tensor& x, Where where = Where::here());

// bool, without gradient.
Tensor isnan(const Tensor& x, Where where = Where::here());
Tensor isinf(const Tensor& x, Where where = Where::here());
Tensor isfinite(const Tensor& x, Where where = Where::here());
/// Whether an element is 0.
Tensor logical_not(const Tensor& x, Where where = Where::here());

}  // namespace tally
