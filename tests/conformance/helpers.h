// Entries of the table that many ops share.
#pragma once

#include <tally/core/where.h>
#include <tally/ops/elementwise_op.h>

#include "table.h"

namespace tally::conformance {

template <Tensor (*F)(const Tensor&, Where)> Tensors one_sided(Arguments& a) { return {F(a.self(), Where::here())}; }

inline Operand as_operand(const TensorOrNumber& side) {
  if (const Tensor* tensor = std::get_if<Tensor>(&side)) return *tensor;
  return std::get<Number>(side);
}

/// x.to(dtype) where the case asks for one.
inline Tensor in_dtype(const Tensor& x, std::optional<DType> dtype) { return dtype ? x.to(*dtype) : x; }

}  // namespace tally::conformance
