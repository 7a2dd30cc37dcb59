#include <tally/ops/matmul.h>

#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/autograd/no_grad.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/print.h>
#include <tally/ops/cpu/matmul_panel.h>
#include <tally/ops/operators.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/poison.h>

#include <cfloat>
#include <functional>

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Matmul : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Matmul);

// |y - a·b| <= (k + rounds)·u·|a|·|b| for each element: the bound of any order of summation, u of the type summed in,
// and one rounding to the result's type. All of [m, k] and [k, n].
void expect_product(const Tensor& y, const Tensor& a, const Tensor& b) {
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  ASSERT_EQ(y.shape(), (Shape{m, n}));
  const auto x = a.to_vector<double>(), w = b.to_vector<double>(), got = y.to_vector<double>();
  const double u = (y.dtype() == float64 ? DBL_EPSILON : FLT_EPSILON) / 2;
  const double last = y.dtype() == float16 ? 0x1p-11 : y.dtype() == bfloat16 ? 0x1p-8 : 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      long double sum = 0, magnitude = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const long double term =
            static_cast<long double>(x[static_cast<std::size_t>(i * k + l)]) * w[static_cast<std::size_t>(l * n + j)];
        sum += term;
        magnitude += std::abs(term);
      }
      const double bound =
          static_cast<double>((static_cast<long double>(k) + 1) * u * magnitude * 1.01L +
                              last * (std::abs(sum) + (static_cast<long double>(k) + 1) * u * magnitude));
      ASSERT_NEAR(got[static_cast<std::size_t>(i * n + j)], static_cast<double>(sum), bound) << i << ", " << j;
    }
}

TEST_P(Matmul, HandWorked) {
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}, on()), b = tensor({{1, 0}, {0, 2}, {-1, 1}}, on());
  EXPECT_THAT(matmul(a, b).to_vector<int>(), ElementsAre(-2, 7, -2, 16));
}

TEST_P(Matmul, AgreesWithAPlainLoopInEveryLayoutAndDtype) {
  for (DType dtype : {float32, float64, float16, bfloat16}) {
    const Tensor a = randn({5, 7}, on(float32)).to(dtype), b = randn({7, 4}, on(float32)).to(dtype);
    for (const auto& [name_a, left] : test::layouts(a))
      for (const auto& [name_b, right] : test::layouts(b)) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + name_a + " by " + name_b);
        test::poison(20 * size_of(dtype), device());
        const Tensor y = matmul(left, right);
        EXPECT_EQ(y.dtype(), dtype);
        expect_product(y, a, b);
      }
  }
}

TEST_P(Matmul, AgreesAtSizesWherePanelsAndVectorsEnd) {
  for (const Shape& s : {Shape{1, 1, 1}, Shape{1, 300, 1}, Shape{65, 3, 64}, Shape{63, 17, 129}, Shape{130, 33, 5},
                         Shape{2, 5, 131}, Shape{515, 3, 2}}) {
    SCOPED_TRACE(to_string(s));
    for (DType dtype : {float32, float64}) {
      const Tensor a = randn({s[0], s[1]}, on(dtype)), b = randn({s[1], s[2]}, on(dtype));
      expect_product(matmul(a, b), a, b);
      expect_product(matmul(t(test::transposed(t(a)).tensor), t(test::contiguous(t(b)).tensor)), a, b);
    }
  }
}

TEST_P(Matmul, TakesWhatIsRepeated) {
  const Tensor row = randn({1, 6}, on()), b = randn({6, 3}, on());
  expect_product(matmul(expand(row, {4, 6}), b), expand(row, {4, 6}), b);
  const Tensor column = randn({6, 1}, on());
  expect_product(matmul(b.size(0) == 6 ? t(b) : b, expand(column, {6, 4})), t(b), expand(column, {6, 4}));
}

TEST_P(Matmul, VectorsAreRowsAndColumns) {
  const Tensor a = tensor({{1, 2}, {3, 4}, {5, 6}}, on()), v = tensor({1, -1}, on()), w = tensor({1, 0, 2}, on());
  const Tensor av = matmul(a, v), wa = matmul(w, a), vv = matmul(v, v);
  EXPECT_EQ(av.shape(), (Shape{3}));
  EXPECT_THAT(av.to_vector<int>(), ElementsAre(-1, -1, -1));
  EXPECT_EQ(wa.shape(), (Shape{2}));
  EXPECT_THAT(wa.to_vector<int>(), ElementsAre(11, 14));
  EXPECT_EQ(vv.shape(), (Shape{}));
  EXPECT_EQ(vv.item<int>(), 2);
  EXPECT_EQ(matmul(v, zeros({5, 2, 3}, on())).shape(), (Shape{5, 3}));
  EXPECT_EQ(matmul(zeros({5, 2, 3}, on()), w).shape(), (Shape{5, 2}));
}

TEST_P(Matmul, LeadingDimsBroadcast) {
  const Tensor a = randn({2, 1, 3, 4}, on(float64)), b = randn({5, 4, 2}, on(float64));
  const Tensor y = matmul(a, b), rows = matmul(a, select(b, 0, 1)), columns = matmul(select(select(a, 0, 1), 0, 0), b);
  ASSERT_EQ(y.shape(), (Shape{2, 5, 3, 2}));
  ASSERT_EQ(rows.shape(), (Shape{2, 1, 3, 2}));
  ASSERT_EQ(columns.shape(), (Shape{5, 3, 2}));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 5; ++j)
      expect_product(select(select(y, 0, i), 0, j), select(select(a, 0, i), 0, 0), select(b, 0, j));
  expect_product(select(select(rows, 0, 1), 0, 0), select(select(a, 0, 1), 0, 0), select(b, 0, 1));
  expect_product(select(columns, 0, 3), select(select(a, 0, 1), 0, 0), select(b, 0, 3));
  // A stack whose dims do not merge.
  const Tensor turned = transpose(randn({3, 2, 4, 5}, on()), 0, 1), c = randn({2, 3, 5, 2}, on());
  const Tensor z = matmul(turned, c);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      expect_product(select(select(z, 0, i), 0, j), select(select(turned, 0, i), 0, j), select(select(c, 0, i), 0, j));
}

TEST_P(Matmul, OfNothingIsZero) {
  test::poison(24, device());
  EXPECT_THAT(matmul(zeros({2, 0}, on()), zeros({0, 3}, on())).to_vector<float>(), ::testing::Each(0));
  EXPECT_EQ(matmul(zeros({0, 2}, on()), zeros({2, 3}, on())).shape(), (Shape{0, 3}));
  EXPECT_EQ(matmul(zeros({2, 3}, on()), zeros({3, 0}, on())).shape(), (Shape{2, 0}));
  EXPECT_EQ(matmul(zeros({0, 2, 3}, on()), zeros({3, 4}, on())).shape(), (Shape{0, 2, 4}));
  EXPECT_EQ(matmul(zeros({0}, on()), zeros({0}, on())).item<float>(), 0);
  const Tensor x = zeros({0, 3}, on()).requires_grad_(), w = ones({3, 2}, on()).requires_grad_();
  matmul(x, w).backward(zeros({0, 2}, on()));
  EXPECT_THAT(w.grad().to_vector<float>(), ::testing::Each(0));
}

TEST_P(Matmul, InfinitiesAndNaNComeThrough) {
  const float inf = INFINITY;
  const auto y = matmul(tensor({{1, inf}, {0, 0}}, on()), tensor({{1, 0}, {1, 0}}, on())).to_vector<float>();
  EXPECT_EQ(y[0], inf);
  EXPECT_TRUE(std::isnan(y[1])) << "inf times 0";
  EXPECT_EQ(y[2], 0);
}

TEST_P(Matmul, HalvesAccumulateInFloat32) {
  // 2048 + 1 + ... is stuck at 2048 in float16; 4096 ones add up in float32, and 4096 is a float16.
  const Tensor x = ones({1, 4096}, on(float16));
  EXPECT_EQ(matmul(x, t(x)).item<float>(), 4096);
  const Tensor y = ones({1, 512}, on(bfloat16));
  EXPECT_EQ(matmul(y, t(y)).item<float>(), 512);
}

TEST_P(Matmul, Promotes) {
  EXPECT_EQ(matmul(ones({2, 2}, on(float32)), ones({2, 2}, on(float64))).dtype(), float64);
  EXPECT_EQ(matmul(ones({2, 2}, on(int64)), ones({2, 2}, on(float32))).dtype(), float32);
  EXPECT_EQ(matmul(ones({2, 2}, on(float16)), ones({2, 2}, on(bfloat16))).dtype(), float32);
}

TEST_P(Matmul, RefusesWhatDoesNotFit) {
  const Tensor a = zeros({2, 3}, on());
  try {
    matmul(a, a);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("matmul: float32 [2, 3] on"));
    EXPECT_THAT(error.what(), HasSubstr("3 columns against 2 rows"));
    EXPECT_THAT(error.what(), HasSubstr("matmul_test.cpp:"));
  }
  EXPECT_THROW(matmul(a, zeros({}, on())), ShapeError);
  EXPECT_THROW(matmul(zeros({2, 2, 3}, on()), zeros({3, 3, 4}, on())), ShapeError);
  EXPECT_THROW(matmul(zeros({2, 2}, on(int64)), zeros({2, 2}, on(int64))), DTypeError);
  try {
    linear(a, zeros({4, 2}, on()));
    FAIL() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr(": it takes 2 features, not 3"));
  }
  EXPECT_THROW(linear(a, zeros({4, 3}, on()), zeros({3}, on())), ShapeError);
  if (device() != cpu) {
    EXPECT_THROW(matmul(a, zeros({3, 2})), DeviceError);
  }
}

TEST_P(Matmul, GivesGradients) {
  const Options wide = on(float64);
  const Tensor a = randn({2, 3}, wide), b = randn({3, 4}, wide), v = randn({3}, wide);
  const Tensor stack = randn({2, 1, 2, 3}, wide), other = randn({3, 3, 2}, wide);
  const auto product = [](const Tensor& x, const Tensor& y) { return matmul(x, y); };
  for (const auto& [x, y] : std::vector<std::pair<Tensor, Tensor>>{
           {a, b}, {a, v}, {v, b}, {v, v.clone()}, {stack, other}, {stack, b}, {a, other}}) {
    SCOPED_TRACE(to_string(x.shape()) + " by " + to_string(y.shape()));
    EXPECT_THAT(product, PassesGradCheck(x, y));
    EXPECT_THAT(product, PassesGradGradCheck(x, y));
  }
  EXPECT_THAT([](const Tensor& x) { return matmul(x, t(x)); }, PassesGradCheck(a));
  EXPECT_THAT([](const Tensor& x) { return matmul(x, t(x)); }, PassesGradGradCheck(a));
}

TEST_P(Matmul, KeepsOnlyWhatAGradientNeeds) {
  const Tensor x = ones({2, 2}, on()), w = ones({2, 2}, on()).requires_grad_();
  const Tensor y = matmul(x, w);
  no_grad([&] { w.fill_(5); });  // w's gradient needs x alone
  y.backward(ones({2, 2}, on()));
  EXPECT_THAT(w.grad().to_vector<int>(), ElementsAre(2, 2, 2, 2));
  const Tensor z = matmul(x, w);
  x.fill_(3);
  EXPECT_THROW(z.backward(ones({2, 2}, on())), AutogradError);
}

TEST_P(Matmul, Linear) {
  const Tensor x = tensor({{1, 2}, {3, 4}}, on()), w = tensor({{1, 0}, {0, 1}, {1, 1}}, on());
  EXPECT_THAT(linear(x, w).to_vector<int>(), ElementsAre(1, 2, 3, 3, 4, 7));
  EXPECT_THAT(linear(x, w, tensor({10, 20, 30}, on())).to_vector<int>(), ElementsAre(11, 22, 33, 13, 24, 37));
  EXPECT_EQ(linear(select(x, 0, 0), w).shape(), (Shape{3}));
  EXPECT_EQ(linear(zeros({4, 5, 2}, on()), w).shape(), (Shape{4, 5, 3}));
  const Options wide = on(float64);
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return linear(x, w, b); };
  EXPECT_THAT(f, PassesGradCheck(randn({2, 2, 3}, wide), randn({4, 3}, wide), randn({4}, wide)));
  EXPECT_THAT(f, PassesGradGradCheck(randn({2, 3}, wide), randn({4, 3}, wide), randn({4}, wide)));
}

TEST_P(Matmul, IsTheSameEveryTimeAndForAnyNumberOfThreads) {
  const int before = num_threads();
  const Tensor a = randn({200, 96}, on()), b = randn({96, 140}, on());
  const Tensor first = matmul(a, b);
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_THAT(matmul(a, b), BitEqual(first)) << threads << " threads";
  }
  set_num_threads(before);
}

// What this processor cannot run is left out; the library itself uses one of these.
TEST(MatmulPanel, EveryInstructionSetAgreesWithAPlainLoop) {
  std::vector<std::pair<const char*, void (*)(const detail::Panel&)>> kernels = {
      {"baseline", detail::multiply_baseline}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({"avx2", detail::multiply_avx2});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    kernels.push_back({"avx512", detail::multiply_avx512});
#endif
  for (const auto& [name, multiply] : kernels)
    for (DType dtype : {float32, float64})
      for (bool a_transposed : {false, true})
        for (bool b_transposed : {false, true}) {
          SCOPED_TRACE(std::string(name) + " " + name_of(dtype) + (a_transposed ? " T" : " N") +
                       (b_transposed ? "T" : "N"));
          const Tensor a = randn({37, 21}, {.dtype = dtype}), b = randn({21, 53}, {.dtype = dtype});
          const Tensor left = a_transposed ? test::transposed(a).tensor : a;
          const Tensor right = b_transposed ? test::transposed(b).tensor : b;
          const Tensor y = full({37, 60}, NAN, {.dtype = dtype});
          multiply({.m = 37,
                    .n = 53,
                    .k = 21,
                    .a = left.raw(),
                    .b = right.raw(),
                    .c = y.raw(),
                    .a_row = a_transposed ? 37 : 21,
                    .b_row = b_transposed ? 21 : 53,
                    .c_row = 60,
                    .a_transposed = a_transposed,
                    .b_transposed = b_transposed,
                    .is_double = dtype == float64});
          expect_product(narrow(y, 1, 0, 53), a, b);
          for (double untouched : narrow(y, 1, 53, 7).to_vector<double>()) EXPECT_TRUE(std::isnan(untouched));
        }
}

}  // namespace
}  // namespace tally
