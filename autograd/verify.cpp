#include <tally/autograd/verify.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <tally/autograd/bits.h>
#include <tally/autograd/no_grad.h>
#include <tally/autograd/verify_parts.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/raw.h>

namespace tally {
namespace {

using detail::List;
using detail::Run;

constexpr DType kFloats[] = {float32, float64, float16, bfloat16};
constexpr std::int64_t kLarge = 1 << 16;

// A check's verdict: empty passes, else what failed. Thrown: why there was nothing to check.
using Text = std::string;
struct LeftOut {
  Text reason;
};

double epsilon_of(DType dtype) {
  return dtype == float64 ? 0x1p-52 : dtype == float32 ? 0x1p-23 : dtype == float16 ? 0x1p-10 : 0x1p-7;
}
double smallest_of(DType dtype) {
  return dtype == float64 ? 0x1p-1074 : dtype == float32 ? 0x1p-149 : dtype == float16 ? 0x1p-24 : 0x1p-133;
}

Tensor with_element(const Tensor& x, double value, bool everywhere) {
  Tensor copy = detail::copies({x})[0];
  if (everywhere)
    raw::fill(copy, value);
  else if (copy.numel() > 0)
    raw::fill(Tensor(copy.storage(), copy.offset(), {}, {}, copy.dtype()), value);
  return copy;
}

class Battery {
 public:
  Battery(const TensorFunction& f, const List& inputs, const VerifyOptions& options, FloatMode float_mode)
      : f_(f), inputs_(detail::copies(inputs)), options_(options), float_mode_(float_mode) {
    for (const Tensor& input : inputs) floating_ |= is_floating(input.dtype());
    Run first;
    first.outputs = f(inputs_);  // what f throws here is not for the battery
    differentiable_ = options.gradient && floating_ &&
                      std::any_of(first.outputs.begin(), first.outputs.end(),
                                  [](const Tensor& y) { return y.defined() && is_floating(y.dtype()); });
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
            options_.atol < 0 ? units * largest + 4 * smallest_of(expected.dtype()) : options_.atol};
  }

  Text value() {
    if (!options_.reference) throw LeftOut{"no reference was given"};
    return against_reference(inputs_, detail::run(f_, inputs_, false));
  }

  Text gradient() {
    if (!differentiable_) throw LeftOut{"no gradient to check"};
    const GradCheck check = gradcheck_function(f_, inputs_, options_.gradcheck);
    return check.ok() ? "" : check.explain();
  }

  Text second_order() {
    if (!differentiable_ || !options_.second_order) throw LeftOut{"no second derivative to check"};
    const GradCheck check = gradgradcheck_function(f_, inputs_, options_.gradcheck);
    return check.ok() ? "" : check.explain();
  }

  Text layouts() {
    return in_each_dtype([&](const List& dense, const Run& plain) { return other_layouts(dense, plain); });
  }
  Text other_layouts(const List& dense, const Run& plain) const {
    for (const detail::Layout& layout : detail::layouts())
      for (std::size_t only = 0; only <= (dense.size() > 1 ? dense.size() : 0);
           ++only) {  // all inputs, then each alone
        List moved;
        for (std::size_t i = 0; i < dense.size(); ++i)
          moved.push_back(only == 0 || only == i + 1 ? layout.make(dense[i]) : dense[i]);
        if (const Text text = detail::run_difference(run(moved), plain); !text.empty())
          return std::string(layout.name) + (only ? " input " + std::to_string(only - 1) : " inputs") +
                 " beside contiguous ones: " + text;
      }
    List spread;
    for (const Tensor& x : dense) spread.push_back(detail::spread_first(x, x.dim() ? x.shape()[0] : 0));
    const Text text = detail::run_difference(run(spread), run(detail::copies(spread)));
    return text.empty() ? "" : "stride-0 inputs beside contiguous ones: " + text;
  }

  Text repeat() {
    return in_each_dtype([&](const List& dense, const Run& plain) -> Text {
      for (const unsigned char garbage : {0xA5, 0x5A}) {
        detail::leave_behind(plain, garbage);
        if (const Text text = detail::run_difference(run(dense), plain); !text.empty())
          return "two runs on the same inputs: " + text;
      }
      return "";
    });
  }

  Text edges() {
    for (const auto& [name, inputs] : edge_inputs()) {
      const Run plain = run(inputs);
      if (plain.foreign) return name + ": " + plain.error;
      Text text = options_.reference ? against_reference(inputs, plain) : "";
      if (text.empty() && plain.ok()) text = other_layouts(inputs, plain);
      if (!text.empty()) return name + ": " + text;
    }
    return "";
  }

  struct Edge {
    std::string name;
    List inputs;
  };
  std::vector<Edge> edge_inputs() const {
    std::vector<Edge> all{{"nothing", {}}, {"one element", {}}, {"no dims", {}}};
    for (const Tensor& x : inputs_) {
      Shape none = x.shape(), one = x.shape();
      for (int d = 0; d < x.dim(); ++d) one[d] = 1;
      if (x.dim() > 0) none[0] = 0;
      const Tensor element(x.storage(), x.offset(), one, contiguous_strides(one), x.dtype());
      all[0].inputs.push_back(detail::empty_like(x, x.dtype(), none));
      all[1].inputs.push_back(x.numel() > 0 ? element : x);
      all[2].inputs.push_back(x.numel() > 0 ? Tensor(x.storage(), x.offset(), {}, {}, x.dtype()) : x);
    }
    for (const List& further : options_.edges) {
      std::string name;
      for (const Tensor& x : further) name += (name.empty() ? "" : ", ") + describe(x);
      all.push_back({name, further});
    }
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_floating(inputs_[i].dtype())) continue;
      const std::pair<const char*, double> specials[] = {
          {"NaN", std::nan("")}, {"infinity", kInf}, {"-infinity", -kInf},
          {"-0", -0.0},          {"0", 0.0},         {"a subnormal", 3 * smallest_of(inputs_[i].dtype())}};
      for (const auto& [name, value] : specials)
        for (const bool everywhere : {false, true}) {
          List inputs = inputs_;
          inputs[i] = with_element(inputs[i], value, everywhere);
          all.push_back({std::string(name) + (everywhere ? " everywhere" : " as the first element") + " of input " +
                             std::to_string(i),
                         inputs});
        }
    }
    return all;
  }

  Text devices() {
    if (!is_available(Device::cuda)) throw LeftOut{"no CUDA device"};
    return in_each_dtype([&](const List& dense, const Run& plain) -> Text {
      const Run there = run(detail::copies(dense, dense[0].dtype(), Device::cuda));
      if (there.host_only) throw LeftOut{"the op runs on the CPU only: " + there.error};
      if (!there.ok()) return "CUDA throws where the CPU does not: " + there.error;
      for (const List Run::*part : {&Run::outputs, &Run::gradients}) {
        const List &a = there.*part, &b = plain.*part;
        const char* what = part == &Run::outputs ? "result" : "gradient";
        Text text = options_.same_bits_on_devices ? detail::list_difference(what, a, b, detail::bit_difference) : "";
        for (std::size_t i = 0; !options_.same_bits_on_devices && text.empty() && i < b.size(); ++i)
          text = detail::difference(a[i], b[i], near(b[i]));
        if (!text.empty()) return "CUDA and CPU: " + text;
      }
      return "";
    });
  }

  Text threads() {
    List large = options_.large.empty() ? enlarged() : detail::copies(options_.large);
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
  List enlarged() const {
    List large;
    for (const Tensor& x : inputs_) {
      if (x.dim() == 0 || x.numel() == 0) {
        large.push_back(x);
        continue;
      }
      Shape shape = x.shape();
      shape.insert(0, kLarge / x.numel() + 1);
      const Tensor repeated(x.storage(), x.offset(), shape, spread_strides(x), x.dtype());
      shape.erase(0);
      shape[0] *= kLarge / x.numel() + 1;
      large.push_back(detail::empty_like(x, x.dtype(), shape));
      Shape rows = repeated.shape();
      raw::copy(Tensor(large.back().storage(), 0, rows, contiguous_strides(rows), x.dtype()), repeated);
    }
    return large;
  }
  static Shape spread_strides(const Tensor& x) {
    Shape strides = x.strides();
    strides.insert(0, 0);
    return strides;
  }

  Text contraction() {
    return float_mode_.contracts
               ? "the compiler fuses products and sums in the file that calls this; -ffp-contract=off "
                 "(nvcc: -fmad=false) keeps the bits the same everywhere"
               : "";
  }

  Text flush_to_zero() {
    if (float_mode_.flushes)
      return "this thread drops subnormal results: a library built with -ffast-math is in the process";
    if (!floating_ || !detail::FlushToZero::exists()) throw LeftOut{"nothing to flush"};
    for (const DType dtype : {float32, float64}) {
      const double scale = (dtype == float32 ? 0x1p-130 : 0x1p-1026);
      List tiny;
      for (const Tensor& input : inputs_) {
        if (!is_floating(input.dtype())) {
          tiny.push_back(input);
          continue;
        }
        std::vector<double> values = input.to_vector<double>();
        for (double& value : values) value *= scale;
        tiny.push_back(detail::empty_like(input, dtype));
        raw::copy(tiny.back(), tensor(values, input.shape()));
      }
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

const char* name_of(Check check) {
  const char* names[] = {"laws",  "value",   "gradient", "second_order", "layouts",      "repeat",
                         "edges", "devices", "threads",  "contraction",  "flush_to_zero"};
  return names[static_cast<int>(check)];
}

bool Verification::ok() const {
  return std::none_of(results.begin(), results.end(),
                      [](const CheckResult& one) { return one.outcome == CheckResult::failed; });
}

bool Verification::failed(Check check) const {
  return std::any_of(results.begin(), results.end(), [check](const CheckResult& one) {
    return one.check == check && one.outcome == CheckResult::failed;
  });
}

std::string Verification::explain() const {
  std::string text = ok() ? "verify_op: passed\n" : "verify_op: failed\n";
  for (const CheckResult& one : results) {
    text += std::string("  ") + name_of(one.check) + ": ";
    switch (one.outcome) {
      case CheckResult::passed:
        text += "passed\n";
        break;
      case CheckResult::left_out:
        text += "left out, " + one.text + "\n";
        break;
      case CheckResult::failed:
        text += "FAILED\n    ";
        for (const char c : one.text) text += c == '\n' ? "\n    " : std::string(1, c);
        text += "\n";
    }
  }
  return text;
}

Verification verify_function(const TensorFunction& f, const std::vector<Tensor>& inputs, const VerifyOptions& options,
                             FloatMode float_mode, Where where) {
  if (inputs.empty()) throw ValueError("verify_op", "there is no input", where);
  for (const Tensor& input : inputs)
    if (!input.defined()) throw ValueError("verify_op", "an input is undefined", where);
  GradMode recording(true);
  return Battery(f, inputs, options, float_mode).all();
}

}  // namespace tally
