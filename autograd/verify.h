// Puts one op through everything the library's own ops go through, and names what failed.
//
//   Verification result = verify_op(swish, {randn({3, 4})});
//   if (!result) std::cout << result.explain();
//
// The battery, for any function of tensors:
//
//   value          against `reference`, a plain second way to the same numbers, where one is given
//   gradient       gradcheck with a random cotangent (autograd/gradcheck.h)
//   second_order   gradgradcheck
//   layouts        contiguous, transposed, sliced, misaligned and stride-0 inputs give the same bits and gradients, or
//                  close ones where an op promises no more
//   repeat         a second run gives the same bits, also where the memory it gets holds other garbage
//   edges          nothing, one element, no dims; NaN, infinities, -0 and subnormals: no exception but the library's
//                  own, the same bits in every layout, and the reference's values where there is one
//   devices        CPU and CUDA give the same bits; left out where there is no CUDA device
//   threads        the bits do not depend on the number of threads
//   contraction    the calling file is compiled with -ffp-contract=off, without which bits are the compiler's choice
//   flush_to_zero  the bits do not change when a fast-math library has told the processor to drop subnormals
//
// Bits are compared in float32, float64, float16 and bfloat16 where the inputs are floating and the op takes them, and
// of gradients as well as of values. In <tally/autograd/gtest.h> the same is a matcher, PassesVerifyOp; for a reduction
// written as a struct see <tally/ops/verify.h>.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tally/autograd/float_mode.h>
#include <tally/autograd/gradcheck.h>

namespace tally {

/// One part of the battery; what each does stands at the top.
enum class Check {
  laws,  // of a reduction's struct alone
  value,
  gradient,
  second_order,
  layouts,
  repeat,
  edges,
  devices,
  threads,
  contraction,
  flush_to_zero
};
/// In words, as explain() shows it.
const char* name_of(Check check);

/// What is expected of the op.
struct VerifyOptions {
  /// The right values, from float64 copies of the inputs on the CPU. Its results are rounded to the op's dtypes.
  TensorFunction reference = nullptr;
  /// |value - reference| may be rtol·|reference| + atol; negative: 32 units in the last place, of the value itself and
  /// of the largest value of the result.
  double rtol = -1, atol = -1;
  /// False for an op of one derivative, or of none.
  bool gradient = true, second_order = true;
  /// False where CPU and CUDA promise only to be close, within rtol and atol.
  bool same_bits_on_devices = true;
  /// False where the bits may depend on the inputs' layout, and values and gradients are to be close within rtol and
  /// atol: of an op made of matrix products. Runs and numbers of threads must give the same bits all the same.
  bool same_bits_in_layouts = true;
  /// Inputs on which several threads share the work. Where there are none, the inputs are repeated along their first
  /// dim, if the op takes that.
  std::vector<Tensor> large = {};
  /// Further lists of inputs that the check of edges runs, such as lengths at which loops change.
  std::vector<std::vector<Tensor>> edges = {};
  GradCheckOptions gradcheck = {};
};

/// What one check found.
struct CheckResult {
  enum Outcome { passed, failed, left_out };
  Check check = Check::value;
  Outcome outcome = passed;
  std::string text = {};  // what failed, or why nothing was checked
};

/// What all of them found.
struct Verification {
  /// Nothing failed.
  bool ok() const;
  explicit operator bool() const { return ok(); }
  /// Whether this one did.
  bool failed(Check check) const;
  /// One line a check, and under it what failed.
  std::string explain() const;

  std::vector<CheckResult> results;
};

/// ValueError where there is no input or an undefined one. What f throws on the inputs themselves comes through.
Verification verify_function(const TensorFunction& f, const std::vector<Tensor>& inputs, const VerifyOptions& options,
                             FloatMode float_mode, Where where = Where::here());

/// The same for any f that as_tensor_function takes.
template <class F>
requires(detail::takes_tensors<F>() || std::is_invocable_v<F&, const std::vector<Tensor>&>)  //
    Verification verify_op(F f, const std::vector<Tensor>& inputs, const VerifyOptions& options = {},
                           FloatMode float_mode = FloatMode::here(), Where where = Where::here()) {
  return verify_function(as_tensor_function(std::move(f)), inputs, options, float_mode, where);
}

}  // namespace tally
