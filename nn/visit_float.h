// dtype visits of the loops that exist for floats only.
#pragma once

#include <tally/core/dtype.h>

namespace tally::detail {

/// f(float{}) or f(double{}).
template <class F> decltype(auto) visit_real(DType dtype, F&& f) { return dtype == float64 ? f(double{}) : f(float{}); }

/// f(TypeTag<T>{}) for a floating dtype.
template <class F> void visit_floating(DType dtype, F&& f) {
  visit(dtype, [&](auto tag) {
    if constexpr (is_float_type<typename decltype(tag)::type>) f(tag);
  });
}

}  // namespace tally::detail
