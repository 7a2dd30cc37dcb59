// The list of reductions. Each is its arithmetic and its derivative; what the members mean stands in ops/reduction.h.
#pragma once

#include <variant>

#include <tally/ops/reductions/count.h>
#include <tally/ops/reductions/extremes.h>
#include <tally/ops/reductions/logsumexp.h>
#include <tally/ops/reductions/norm.h>
#include <tally/ops/reductions/prod.h>
#include <tally/ops/reductions/sum.h>
#include <tally/ops/reductions/var.h>

namespace tally {

/// The only list of them: kernels visit it, tests walk it.
using Reduction = std::variant<Sum, Mean, Prod, Max, Min, AMax, AMin, CountNonzero, Any, All, Norm2, Norm1, Norm0,
                               NormInf<true>, NormInf<false>, NormP, Var, Std, LogSumExp>;

}  // namespace tally
