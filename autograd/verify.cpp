#include <tally/autograd/verify.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include <tally/autograd/bits.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/verify_inputs.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/raw.h>
#include <tally/core/storage_counts.h>

namespace tally {
namespace {

using detail::List;
using detail::Run;

constexpr DType kFloats[] = {float32, float64, float16, bfloat16};

// A check's verdict: empty passes, else what failed. Thrown: why there was nothing to check.
using Text = std::string;
struct LeftOut {
  Text reason;
};

double epsilon_of(DType dtype) {
  return dtype == float64 ? 0x1p-52 : dtype == float32 ? 0x1p-23 : dtype == float16 ? 0x1p-10 : 0x1p-7;
}

class Battery {
 public:
  Battery(const TensorFunction& f, const List& inputs, const VerifyOptions& options, FloatMode float_mode)
      : f_(f), inputs_(detail::copies(inputs)), options_(options), float_mode_(float_mode) {
    for (const Tensor& input : inputs) floating_ |= is_floating(input.dtype());
    const List outputs = f(inputs_);  // what f throws here is not for the battery
    differentiable_ = options.gradient && floating_ && std::any_of(outputs.begin(), outputs.end(), [](const Tensor& y) {
                        return y.defined() && is_floating(y.dtype());
                      });
  }

  Verification all() {
    check(Check::value, &Battery::value);
    check(Check::gradient, &Battery::gradient);
    check(Check::second_order, &Battery::second_order);
    check(Check::layouts, &Battery::layouts);
    check(Check::repeat, &Battery::repeat);
    check(Check::edges, &Battery::edges);
    check(Check::devices, &Battery::devices);
    check(Check::threads, &Battery::threads);
    check(Check::contraction, &Battery::contraction);
    check(Check::flush_to_zero, &Battery::flush_to_zero);
    return std::move(result_);
  }

 private:
  void check(Check which, Text (Battery::*run)()) {
    CheckResult one{.check = which};
    try {
      one.text = (this->*run)();
      one.outcome = one.text.empty() ? CheckResult::passed : CheckResult::failed;
    } catch (const LeftOut& why) {
      one.text = why.reason;
      one.outcome = CheckResult::left_out;
    } catch (const std::exception& error) {
      one.text = std::string("threw ") + error.what();
      one.outcome = CheckResult::failed;
    }
    result_.results.push_back(one);
  }

  Run run(const List& inputs) const { return detail::run(f_, inputs, differentiable_); }

  // `text` of the first floating dtype in which `compare` finds something; a dtype that f refuses is left out.
  Text in_each_dtype(const std::function<Text(const List& inputs, const Run& plain)>& compare) const {
    for (const DType dtype : kFloats) {
      const List dense = detail::copies(inputs_, dtype, cpu);
      const Run plain = run(dense);
      if (plain.foreign) return plain.error;
      if (plain.ok())
        if (const Text text = compare(dense, plain); !text.empty())
          return floating_ ? std::string("in ") + name_of(dtype) + ": " + text : text;
      if (!floating_) break;
    }
    return "";
  }

  // Empty where the run gives the reference's values; what the reference throws at is not compared.
  Text against_reference(const List& inputs, const Run& got) const {
    const Run expected = detail::run(options_.reference, detail::copies(inputs, float64, cpu), false);
    if (!expected.ok()) return "";
    if (!got.ok()) return "throws where the reference has a value: " + got.error;
    if (got.outputs.size() != expected.outputs.size())
      return std::to_string(got.outputs.size()) + " results where the reference gives " +
             std::to_string(expected.outputs.size());
    for (std::size_t i = 0; i < got.outputs.size(); ++i) {
      const DType dtype = got.outputs[i].dtype();
      const Tensor rounded = detail::empty_like(expected.outputs[i], dtype);
      raw::copy(rounded, expected.outputs[i]);
      if (const Text text = detail::difference(got.outputs[i], rounded, near(rounded)); !text.empty())
        return "result " + std::to_string(i) + ": " + text + " in the reference";
    }
    return "";
  }

  detail::Near near(const Tensor& expected) const {
    if (!is_floating(expected.dtype())) return {0, 0};
    double largest = 0;
    for (const double y : expected.to_vector<double>())
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
    const double units = 32 * epsilon_of(expected.dtype());
    return {options_.rtol < 0 ? units : options_.rtol,
            options_.atol < 0 ? units * largest + 4 * detail::smallest_subnormal(expected.dtype()) : options_.atol};
  }

  Text value() {
    if (!options_.reference) throw LeftOut{"no reference was given"};
    return against_reference(inputs_, detail::run(f_, inputs_, false));
  }

  // Inputs without elements have nothing to check.
  Text said(const GradCheck& check) const {
    const bool empty = std::all_of(inputs_.begin(), inputs_.end(),
                                   [](const Tensor& x) { return x.numel() == 0 || !is_floating(x.dtype()); });
    if (empty && check.failure.empty()) throw LeftOut{"the inputs have no elements"};
    return check.ok() ? "" : check.explain();
  }

  Text gradient() {
    if (!differentiable_) throw LeftOut{"no gradient to check"};
    return said(gradcheck_function(f_, inputs_, options_.gradcheck));
  }

  Text second_order() {
    if (!differentiable_ || !options_.second_order) throw LeftOut{"no second derivative to check"};
    const GradCheck check = gradgradcheck_function(f_, inputs_, options_.gradcheck);
    const Text text = said(check);
    return check.failure.empty() ? text : text + "  an op of one derivative is verified with {.second_order = false}\n";
  }

  // Empty where two runs are as close as the options ask.
  Text apart(const Run& a, const Run& b) const {
    const auto close = [&](const Tensor& x, const Tensor& y) {
      return y.defined() ? detail::difference(x, y, near(y)) : detail::bit_difference(x, y);
    };
    const Text values = detail::list_difference("result", a.outputs, b.outputs, close);
    return values.empty() ? detail::list_difference("gradient", a.gradients, b.gradients, close) : values;
  }

  Text layouts() {
    return in_each_dtype([&](const List& dense, const Run& plain) { return other_layouts(dense, plain); });
  }
  Text other_layouts(const List& dense, const Run& plain) const {
    const std::size_t alone = dense.size() > 1 ? dense.size() : 0;
    for (const detail::Layout& layout : detail::layouts())
      for (std::size_t only = 0; only <= alone; ++only) {  // all inputs, then each by itself
        List moved;
        for (std::size_t i = 0; i < dense.size(); ++i)
          moved.push_back(only == 0 || only == i + 1 ? layout.make(dense[i]) : dense[i]);
        if (const Text text = in_layouts(run(moved), plain); !text.empty())
          return std::string(layout.name) + (only ? " input " + std::to_string(only - 1) : " inputs") +
                 " beside contiguous ones: " + text;
      }
    List spread;
    for (const Tensor& x : dense) spread.push_back(detail::spread_first(x, x.dim() ? x.shape()[0] : 0));
    const Text text = in_layouts(run(spread), run(detail::copies(spread)));
    return text.empty() ? "" : "stride-0 inputs beside contiguous ones: " + text;
  }
  Text in_layouts(const Run& moved, const Run& plain) const {
    const Text bits = detail::run_difference(moved, plain);
    if (bits.empty() || moved.ok() != plain.ok()) return bits;
    const Text far = apart(moved, plain);
    if (!options_.same_bits_in_layouts) return far;
    return far.empty() ? bits + "; close, which is enough with .same_bits_in_layouts = false" : bits;
  }

  Text repeat() {
    return in_each_dtype([&](const List& dense, const Run& plain) -> Text {
      for (const unsigned char garbage : {0xA5, 0x5A}) {
        detail::leave_behind(plain, garbage);  // for CUDA, whose cache hands it out again
        const detail::FreshMemoryFilled filled(garbage);
        if (const Text text = detail::run_difference(run(dense), plain); !text.empty())
          return "two runs on the same inputs: " + text;
      }
      return "";
    });
  }

  Text edges() {
    std::vector<detail::EdgeCase> all = detail::edge_inputs(inputs_);
    for (const List& further : options_.edges) {
      std::string name;
      for (const Tensor& x : further) name += (name.empty() ? "" : ", ") + describe(x);
      all.push_back({name, further});
    }
    for (const auto& [name, inputs] : all) {
      const Run plain = run(inputs);
      if (plain.foreign) return name + ": " + plain.error;
      Text text = options_.reference ? against_reference(inputs, plain) : "";
      if (text.empty() && plain.ok()) text = other_layouts(inputs, plain);
      if (!text.empty()) return name + ": " + text;
    }
    return "";
  }

  Text devices() {
    if (!is_available(Device::cuda)) throw LeftOut{"no CUDA device"};
    return in_each_dtype([&](const List& dense, const Run& plain) -> Text {
      const Run there = run(detail::copies(dense, dense[0].dtype(), Device::cuda));
      if (there.host_only) throw LeftOut{"the op runs on the CPU only: " + there.error};
      if (!there.ok()) return "CUDA throws where the CPU does not: " + there.error;
      const Text text = options_.same_bits_on_devices ? detail::run_difference(there, plain) : apart(there, plain);
      return text.empty() ? "" : "CUDA and CPU: " + text;
    });
  }

  Text threads() {
    List large = options_.large.empty() ? detail::enlarged(inputs_) : detail::copies(options_.large);
    const int before = num_threads();
    const auto with = [&](int count) {
      set_num_threads(count);
      Run result = run(large);
      set_num_threads(before);
      return result;
    };
    Run one = with(1);
    if (!one.ok() && options_.large.empty()) {
      large = inputs_;
      one = with(1);
    }
    if (!one.ok()) return one.error;
    for (const int count : {2, 3, 8})
      if (const Text text = detail::run_difference(with(count), one); !text.empty())
        return std::to_string(count) + " threads and one: " + text;
    return "";
  }

  Text contraction() {
    return float_mode_.contracts
               ? "the compiler fuses products and sums in the file that calls this; tally::strict in CMake, or "
                 "-ffp-contract=off (nvcc: -fmad=false), keeps the bits the same everywhere"
               : "";
  }

  Text flush_to_zero() {
    if (float_mode_.flushes)
      return "this thread drops subnormal results: a library built with -ffast-math is in the process";
    if (!floating_ || !detail::FlushToZero::exists()) throw LeftOut{"nothing to flush"};
    for (const DType dtype : {float32, float64}) {
      const List tiny = detail::subnormal(inputs_, dtype);
      const Run plain = run(tiny);
      if (!plain.ok()) continue;
      Run flushed;
      {
        detail::FlushToZero on;
        flushed = run(tiny);
      }
      if (const Text text = detail::run_difference(flushed, plain); !text.empty())
        return std::string("subnormal inputs in ") + name_of(dtype) + ", with flush-to-zero and without: " + text +
               "; a FloatGuard (core/parallel.h) around the op's own loops keeps it out";
    }
    return "";
  }

  const TensorFunction& f_;
  List inputs_;
  const VerifyOptions& options_;
  FloatMode float_mode_;
  bool floating_ = false, differentiable_ = false;
  Verification result_;
};

}  // namespace

Verification verify_function(const TensorFunction& f, const std::vector<Tensor>& inputs, const VerifyOptions& options,
                             FloatMode float_mode, Where where) {
  if (inputs.empty()) throw ValueError("verify_op", "there is no input", where);
  for (const Tensor& input : inputs)
    if (!input.defined()) throw ValueError("verify_op", "an input is undefined", where);
  GradMode recording(true);
  return Battery(f, inputs, options, float_mode).all();
}

}  // namespace tally
