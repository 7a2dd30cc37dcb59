// verify_op lets right ops through, and for each part of its battery names a fault planted there.
#include <tally/autograd/verify.h>

#include <cmath>

#include <tally/autograd/gtest.h>
#include <tally/autograd/record.h>
#include <tally/autograd/verify_parts.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/random.h>
#include <tally/ops/matmul.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>
#include <tally/ops/where.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Tensor input() { return tensor({{0.5, -1.25, 2.0}, {1.5, 0.75, -0.3}}); }

std::vector<Check> failures(const Verification& result) {
  std::vector<Check> failed;
  for (const CheckResult& one : result.results)
    if (one.outcome == CheckResult::failed) failed.push_back(one.check);
  return failed;
}

// A value made on the host, without gradient: what a fault in a user's own loop is planted in.
template <class F> Tensor by_hand(const Tensor& x, F f) {
  std::vector<double> values = x.to_vector<double>();
  f(values);
  return tensor(values, x.shape()).to(x.dtype()).to(x.device());
}
constexpr auto kNoGradient = [] { return VerifyOptions{.gradient = false}; };

Tensor swish(const Tensor& x) { return x * sigmoid(x); }

TensorFunction plain(double (*f)(double)) {
  return [f](const std::vector<Tensor>& inputs) {
    return std::vector{by_hand(inputs[0], [f](std::vector<double>& values) {
      for (double& x : values) x = f(x);
    })};
  };
}

TEST(VerifyOp, RightOpsPass) {
  EXPECT_THAT(swish, PassesVerifyOp({.reference = plain([](double x) { return x / (1 + std::exp(-x)); }), .rtol = 1e-5},
                                    input() + 0.1));
  EXPECT_THAT([](const Tensor& x) { return exp(x); }, PassesVerifyOp(input()));
  EXPECT_THAT([](const Tensor& x) { return sum(x, 1); }, PassesVerifyOp(input()));
  EXPECT_THAT([](const Tensor& x) { return max(x, 0); }, PassesVerifyOp(input()));
  EXPECT_THAT([](const Tensor& x) { return argmax(x, 0); }, PassesVerifyOp(input()));
  EXPECT_THAT([](const Tensor& a, const Tensor& b) { return a * b; }, PassesVerifyOp(input(), tensor({2.0, 3.0, 1.0})));
  EXPECT_THAT([](const Tensor& a, const Tensor& b) { return where(a > b, a, b * b); },
              PassesVerifyOp(input(), input() * 0.5 + 0.1));
}

TEST(VerifyOp, SaysWhatItDid) {
  const Verification result = verify_op(swish, {input()});
  EXPECT_TRUE(result);
  EXPECT_THAT(result.explain(), AllOf(HasSubstr("verify_op: passed"), HasSubstr("gradient: passed"),
                                      HasSubstr("value: left out, no reference was given")));
  EXPECT_EQ(result.results.size(), 10u);
  EXPECT_THROW(verify_op(swish, {}), ValueError);
  EXPECT_THROW(verify_op(swish, {Tensor()}), ValueError);
  EXPECT_THROW(verify_op([](const Tensor& x) { return sum(x, 7); }, {input()}), IndexError);
}

TEST(VerifyOp, InputsWithoutElementsHaveNoGradientToCheck) {
  const Verification result = verify_op(swish, {zeros({0, 3})});
  EXPECT_TRUE(result) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("gradient: left out, the inputs have no elements"));
}

TEST(VerifyOp, NamesAWrongValue) {
  const auto almost = [](const Tensor& x) { return x * sigmoid(x) + (x == 2.0) * 1e-3; };
  const Verification result =
      verify_op(almost, {input()}, {.reference = plain([](double x) { return x / (1 + std::exp(-x)); })});
  EXPECT_TRUE(result.failed(Check::value)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("1 of 6 elements differ, first at [0, 2]"));
}

TEST(VerifyOp, NamesAWrongGradient) {
  const auto f = [](const Tensor& x) {
    return record("half", {x}, no_grad([&] { return x * x; }), saving(x),
                  [](const Tensor& g, const Tensor& x) { return std::vector{g * x}; });
  };
  const Verification result = verify_op(f, {input()});
  EXPECT_THAT(failures(result), ElementsAre(Check::gradient)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("off by the factor 0.5"));
}

TEST(VerifyOp, NamesAWrongSecondDerivative) {
  const auto f = [](const Tensor& x) {
    return record("square", {x}, no_grad([&] { return x * x; }), saving(x),
                  [](const Tensor& g, const Tensor& x) { return std::vector{2 * g * x.detach()}; });
  };
  EXPECT_THAT(failures(verify_op(f, {input()})), ElementsAre(Check::second_order));
  EXPECT_TRUE(verify_op(f, {input()}, {.second_order = false}));
}

TEST(VerifyOp, NamesALoopThatIgnoresStrides) {
  const auto f = [](const Tensor& x) {
    const Tensor dense(x.storage(), x.offset(), x.shape(), contiguous_strides(x.shape()), x.dtype());
    return dense.storage()->bytes() >= static_cast<std::size_t>(x.offset() + x.numel()) * size_of(x.dtype())
               ? dense.clone()
               : x.clone();  // never read beyond the memory
  };
  const Verification result = verify_op(f, {input()}, kNoGradient());
  EXPECT_TRUE(result.failed(Check::layouts)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("in float32: transposed inputs beside contiguous ones: result 0"));
}

TEST(VerifyOp, NamesAGradientThatIgnoresStrides) {
  const auto f = [](const Tensor& x) {
    const bool dense = x.is_contiguous();
    return record("strided", {x}, no_grad([&] { return 2 * x; }),
                  [dense](const Tensor& g) { return std::vector{dense ? 2 * g : 3 * g}; });
  };
  const Verification result = verify_op(f, {input()});
  EXPECT_TRUE(result.failed(Check::layouts)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("gradient 0"));
}

TEST(VerifyOp, TakesAnOpMadeOfMatrixProductsThatIsClose) {
  Generator generator(3);
  const Tensor a = empty({7, 33}, {.dtype = float64}), b = empty({33, 5}, {.dtype = float64});
  fill_normal(a, generator);
  fill_normal(b, generator);
  const auto f = [](const Tensor& a, const Tensor& b) { return matmul(a, b) * sigmoid(matmul(a, b)); };
  EXPECT_THAT(f, PassesVerifyOp({.same_bits_on_devices = false, .same_bits_in_layouts = false}, a, b));
  // Where the last digits do differ, the words say what to do about it.
  const Verification strict = verify_op(f, {a, b}, {.same_bits_on_devices = false});
  const std::string hint = "close, which is enough with .same_bits_in_layouts = false";
  EXPECT_TRUE(strict.ok() || strict.explain().find(hint) != std::string::npos) << strict.explain();
}

TEST(VerifyOp, TellsCloseFromWrongInALayout) {
  // The value, or the gradient, of a transposed input is a little off.
  const auto off_by = [](double value, double gradient) {
    return [=](const Tensor& a, const Tensor& b) {
      const bool odd = a.strides()[0] < a.strides()[1];
      const auto scaled = [odd](const Tensor& x, double by) { return odd ? x * (1 + by) : x; };
      return record(
          "scaled_product", {a, b}, no_grad([&] { return scaled(matmul(a, b), value); }), saving(a, b),
          [=](const Tensor& g, const Tensor& a, const Tensor& b) {
            return std::vector{scaled(matmul(g, transpose(b, 0, 1)), gradient), matmul(transpose(a, 0, 1), g)};
          });
    };
  };
  const VerifyOptions close{.second_order = false, .same_bits_on_devices = false, .same_bits_in_layouts = false};
  const std::vector<Tensor> inputs = {input(), transpose(input(), 0, 1).contiguous() + 1};
  EXPECT_THAT(failures(verify_op(off_by(0, 0), inputs, close)), IsEmpty());
  EXPECT_THAT(failures(verify_op(off_by(1e-16, 0), inputs, close)), IsEmpty());
  const Verification value = verify_op(off_by(1e-4, 0), inputs, close),
                     gradient = verify_op(off_by(0, 1e-4), inputs, close);
  EXPECT_TRUE(value.failed(Check::layouts)) << value.explain();
  EXPECT_THAT(value.explain(),
              AllOf(HasSubstr("transposed inputs beside contiguous ones: result 0"), Not(HasSubstr("close"))));
  EXPECT_TRUE(gradient.failed(Check::layouts)) << gradient.explain();
  EXPECT_THAT(gradient.explain(), HasSubstr("gradient 0"));
  // Without the option the bits have to be the same.
  EXPECT_TRUE(verify_op(off_by(0x1p-22, 0), inputs, {.second_order = false, .same_bits_on_devices = false})
                  .failed(Check::layouts));
}

TEST(VerifyOp, NamesAStrideOfZeroThatIsMultiplied) {
  // "The sum of equal elements is one of them times their number": other bits than adding them.
  const auto f = [](const Tensor& x) {
    return x.strides()[0] == 0 && x.shape()[0] > 1 ? select(x, 0, 0) * x.size(0) : sum(x, 0);
  };
  const Tensor x = full({7, 2}, 0.3, {.dtype = float64});
  const Verification result = verify_op(f, {x}, kNoGradient());
  EXPECT_TRUE(result.failed(Check::layouts)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("stride-0 inputs"));
}

TEST(VerifyOp, NamesARunThatDoesNotRepeat) {
  int calls = 0;
  const auto f = [&](const Tensor& x) { return x + 1e-3 * ++calls; };
  EXPECT_TRUE(verify_op(f, {input()}, kNoGradient()).failed(Check::repeat));
}

TEST(VerifyOp, NamesAnElementThatIsNotWritten) {
  const auto f = [](const Tensor& x) {
    const Tensor y = empty(x.shape(), {.dtype = x.dtype()});
    if (x.numel() > 1)
      narrow(reshape(y, {x.numel()}), 0, 0, x.numel() - 1).copy_(narrow(reshape(x, {x.numel()}), 0, 0, x.numel() - 1));
    return y;
  };
  EXPECT_TRUE(verify_op(f, {input()}, kNoGradient()).failed(Check::repeat));
}

TEST(VerifyOp, NamesADroppedNaN) {
  const auto relu = [](const Tensor& x) { return where(x > 0, x, zeros(x.shape(), {.dtype = x.dtype()})); };
  const auto right = plain([](double x) { return x < 0 ? 0 : x; });
  const Verification result = verify_op(relu, {input()}, {.reference = right});
  EXPECT_THAT(failures(result), ElementsAre(Check::edges)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("NaN as the first element of input 0: result 0"));
  EXPECT_TRUE(verify_op([](const Tensor& x) { return tally::relu(x); }, {input()}, {.reference = right}));
}

TEST(VerifyOp, NamesAnEdgeThatThrowsWhatItShouldNot) {
  const auto first = [](const Tensor& x) { return by_hand(x, [](std::vector<double>& v) { v.at(0) += 1; }); };
  const Verification empty_list = verify_op(first, {input()}, kNoGradient());
  EXPECT_TRUE(empty_list.failed(Check::edges)) << empty_list.explain();
  EXPECT_THAT(empty_list.explain(), HasSubstr("nothing: "));
  // One of the library's own is a documented answer, unless the reference has a value there.
  const auto refusing = [](const Tensor& x) { return max(x, 0); };
  EXPECT_TRUE(verify_op(refusing, {input()}));
  const auto zero = [](const std::vector<Tensor>& x) {
    return std::vector{x[0].numel() > 0 ? max(x[0], 0) : zeros({x[0].size(1)}, {.dtype = float64})};
  };
  EXPECT_TRUE(verify_op(refusing, {input()}, {.reference = zero}).failed(Check::edges));
}

TEST(VerifyOp, RunsFurtherEdges) {
  // Wrong only where a lane of 128 ends.
  const auto f = [](const Tensor& x) { return x.numel() == 129 ? sum(x) * 1.5 : sum(x); };
  const auto right = [](const std::vector<Tensor>& x) {
    double s = 0;
    for (const double v : x[0].to_vector<double>()) s += v;
    return std::vector{tensor(std::vector{s}, Shape{})};
  };
  EXPECT_TRUE(verify_op(f, {ones({5})}, {.reference = right}));
  const Verification result = verify_op(f, {ones({5})}, {.reference = right, .edges = {{ones({128})}, {ones({129})}}});
  EXPECT_THAT(failures(result), ElementsAre(Check::edges));
  EXPECT_THAT(result.explain(), HasSubstr("float32 [129] on cpu: result 0"));
}

TEST(VerifyOp, NamesWhatDiffersOnTheDevices) {
  const auto f = [](const Tensor& x) { return x.device() == Device::cuda ? x * (1 + 0x1p-20) : x * 1; };
  const Verification result = verify_op(f, {input()}, kNoGradient());
  if (!is_available(Device::cuda)) {
    EXPECT_THAT(result.explain(), HasSubstr("devices: left out, no CUDA device"));
    GTEST_SKIP() << "no CUDA device";
  }
  EXPECT_THAT(failures(result), ElementsAre(Check::devices)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("CUDA and CPU: result 0"));
  EXPECT_TRUE(verify_op(f, {input()}, {.rtol = 1e-2, .gradient = false, .same_bits_on_devices = false}));
}

TEST(VerifyOp, NamesBitsThatDependOnTheThreads) {
  // Each thread sums a part: the usual way, and the order changes with their number.
  const auto f = [](const Tensor& x) {
    const std::int64_t parts = std::min<std::int64_t>(num_threads(), x.numel());
    if (parts <= 1) return sum(x.to(float32));
    Tensor total = zeros({});
    const Tensor flat = reshape(x.to(float32), {x.numel()});
    for (std::int64_t p = 0; p < parts; ++p)
      total = total + sum(narrow(flat, 0, p * x.numel() / parts, (p + 1) * x.numel() / parts - p * x.numel() / parts));
    return total;
  };
  const int before = num_threads();
  set_num_threads(1);
  Generator generator(1);
  const Tensor large = empty({5000});
  fill_normal(large, generator);
  const Verification result = verify_op(f, {input()}, {.gradient = false, .large = {large}});
  EXPECT_THAT(failures(result), ElementsAre(Check::threads)) << result.explain();
  EXPECT_EQ(num_threads(), 1);
  set_num_threads(before);
}

TEST(VerifyOp, NamesALoopUnderFlushToZero) {
  const auto f = [](const Tensor& x) {
    return by_hand(x.to(float64), [](std::vector<double>& values) {
      for (double& v : values) {
        volatile double half = 0.5;
        v = v * half;
      }
    });
  };
  const Verification result = verify_op(f, {input()}, kNoGradient());
#if defined(__x86_64__)
  EXPECT_THAT(failures(result), ElementsAre(Check::flush_to_zero)) << result.explain();
  EXPECT_THAT(result.explain(), AllOf(HasSubstr("subnormal inputs in float64"), HasSubstr("FloatGuard")));
#endif
  const auto guarded = [f](const Tensor& x) {
    FloatGuard guard;
    return f(x);
  };
  EXPECT_TRUE(verify_op(guarded, {input()}, kNoGradient()));
}

// A part of this file that is compiled as g++ compiles by default for a processor with fma.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
[[gnu::target("fma"), gnu::optimize("O2", "fp-contract=fast")]] FloatMode contracted() { return FloatMode::here(); }
bool can_contract() { return __builtin_cpu_supports("fma"); }
#else
FloatMode contracted() { return {.contracts = true}; }
bool can_contract() { return true; }
#endif

TEST(VerifyOp, NamesAFileThatContracts) {
  EXPECT_FALSE(FloatMode::here().contracts);  // the tests are compiled as the library is
  if (!can_contract()) GTEST_SKIP() << "this processor has no fma";
  EXPECT_TRUE(contracted().contracts);
  const Verification result = verify_op(swish, {input()}, {}, contracted());
  EXPECT_THAT(failures(result), ElementsAre(Check::contraction));
  EXPECT_THAT(result.explain(), HasSubstr("-ffp-contract=off"));
}

#if defined(__x86_64__)
TEST(VerifyOp, NamesAProcessThatFlushesSubnormals) {
  EXPECT_FALSE(FloatMode::here().flushes);
  const detail::FlushToZero as_fast_math_does;
  const Verification result = verify_op(swish, {input()});
  EXPECT_TRUE(result.failed(Check::flush_to_zero)) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("-ffast-math"));
}
#endif

TEST(VerifyOp, TheMatcherSaysWhatFailed) {
  const auto wrong = [](const Tensor& x) {
    return record("wrong", {x}, no_grad([&] { return x * x; }), [](const Tensor& g) { return std::vector{g}; });
  };
  EXPECT_THAT(wrong, Not(PassesVerifyOp(input())));
  ::testing::StringMatchResultListener listener;
  EXPECT_FALSE(::testing::ExplainMatchResult(PassesVerifyOp(input()), wrong, &listener));
  EXPECT_THAT(listener.str(), AllOf(HasSubstr("gradient: FAILED"), HasSubstr("layouts: passed")));
}

}  // namespace
}  // namespace tally
