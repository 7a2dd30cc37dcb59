// verify_op on reductions written as structs: a right one passes, planted faults are named.
#include <tally/ops/verify.h>

#include <cmath>

#include <tally/autograd/gtest.h>

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct SumOfSquares {
  static constexpr auto name = "sum_of_squares";
  template <class T> static constexpr bool accepts = is_float_type<T>;
  template <class C> using Acc = C;
  template <class C> TALLY_HD C identity() const { return C(0); }
  template <class C> TALLY_HD C lift(C x) const { return x * x; }
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
  template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
  template <class C> TALLY_HD C derivative(C x, C, std::int64_t, C) const { return 2 * x; }
  Tensor gradient(const Tensor& x, const Tensor&, const Tensor& grad, std::int64_t) const { return 2 * x * grad; }
};

double squares(const std::vector<double>& list) {
  double sum = 0;
  for (const double x : list) sum += x * x;
  return sum;
}

std::vector<std::string> failures(const Verification& result) {
  std::vector<std::string> failed;
  for (const CheckResult& one : result.results)
    if (one.outcome == CheckResult::failed) failed.push_back(name_of(one.check));
  return failed;
}

TEST(VerifyReduction, ARightOnePasses) {
  const Verification result = verify_op(SumOfSquares{}, squares);
  EXPECT_TRUE(result) << result.explain();
  EXPECT_EQ(result.results.size(), 11u);
  EXPECT_EQ(result.results[0].check, Check::laws);
  EXPECT_THAT(result.explain(), AllOf(HasSubstr("second_order: passed"), HasSubstr("value: passed")));
  EXPECT_TRUE(verify_op(SumOfSquares{}));  // without a reference
}

// Of one type, which is less to compile.
struct OfDoubles : SumOfSquares {
  template <class T> static constexpr bool accepts = std::is_same_v<T, double>;
};

struct WrongSlope : OfDoubles {
  template <class C> TALLY_HD C derivative(C x, C, std::int64_t, C) const { return x; }
};
TEST(VerifyReduction, NamesAWrongDerivative) {
  const Verification result = verify_op(WrongSlope{}, squares);
  EXPECT_THAT(failures(result), ::testing::ElementsAre("gradient")) << result.explain();
  EXPECT_THAT(result.explain(), AllOf(HasSubstr("over rows: "), HasSubstr("off by the factor 0.5")));
}

struct WrongSecond : OfDoubles {
  Tensor gradient(const Tensor& x, const Tensor&, const Tensor& grad, std::int64_t) const {
    return 2 * x.detach() * grad;
  }
};
TEST(VerifyReduction, NamesAWrongSecondDerivative) {
  EXPECT_THAT(failures(verify_op(WrongSecond{}, squares)), ::testing::ElementsAre("second_order"));
}

// Wrong under create_graph, and its derivative the right one of that.
struct WrongRecordedGradient : OfDoubles {
  Tensor gradient(const Tensor& x, const Tensor&, const Tensor& grad, std::int64_t) const { return 3 * x * grad; }
};
TEST(VerifyReduction, NamesARecordedGradientThatIsNotTheGradient) {
  const Verification result = verify_op(WrongRecordedGradient{}, squares);
  EXPECT_THAT(failures(result), ::testing::ElementsAre("second_order"));
  EXPECT_THAT(result.explain(), AllOf(HasSubstr("off by the factor 1.5"), HasSubstr("under create_graph")));
}

struct WrongIdentity : OfDoubles {
  template <class C> TALLY_HD C identity() const { return C(1e-3); }
};
TEST(VerifyReduction, NamesAnIdentityThatIsNone) {
  const Verification result = verify_op(WrongIdentity{}, squares);
  EXPECT_TRUE(result.failed(Check::laws));
  EXPECT_THAT(result.explain(), HasSubstr("combine(identity, a) is not a"));
}

// 0 is no exact identity of the plain sum: it turns -0 into 0.
struct PlainSum : OfDoubles {
  template <class C> TALLY_HD C lift(C x) const { return x; }
  template <class C> TALLY_HD C derivative(C, std::int64_t, C) const { return 1; }
  Tensor gradient(const Tensor& x, const Tensor&, const Tensor& grad, std::int64_t) const {
    return grad + zeros(x.shape(), {.dtype = x.dtype(), .device = x.device()});
  }
};
TEST(VerifyReduction, NamesAnIdentityThatLosesASign) {
  const Verification result = verify_op(PlainSum{});
  EXPECT_THAT(failures(result), ::testing::Contains("laws"));
  EXPECT_THAT(result.explain(), HasSubstr("the identity of a sum is C(-0.0)"));
}

// A lane that forgets its eighth element: wrong from 897 elements on.
struct ShortLane : OfDoubles {
  template <class C> TALLY_HD C lane(const C (&x)[kPerLane], int count, std::int64_t, C) const {
    C sum = 0;
    for (int j = 0; j < count && j < kPerLane - 1; ++j) sum += x[j] * x[j];
    return sum;
  }
};
TEST(VerifyReduction, NamesALaneThatIsShort) {
  const Verification result = verify_op(ShortLane{}, squares);
  EXPECT_THAT(failures(result), ::testing::ElementsAre("edges")) << result.explain();
  EXPECT_THAT(result.explain(), HasSubstr("1023"));
}

// Keeps the larger in an order that depends on who comes first, and drops a NaN that comes second.
struct CarelessMax {
  static constexpr auto name = "careless_max";
  template <class T> static constexpr bool accepts = std::is_same_v<T, double>;
  template <class C> using Acc = C;
  template <class C> TALLY_HD C lift(C x) const { return x; }
  template <class C> TALLY_HD C combine(C a, C b) const { return b > a ? b : a; }
  template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
};
TEST(VerifyReduction, NamesADroppedNaN) {
  const auto largest = [](const std::vector<double>& list) {
    double found = list[0];
    for (const double x : list) found = x > found || std::isnan(x) ? x : found;
    return found;
  };
  const auto right = [&](const std::vector<double>& list) {
    for (const double x : list)
      if (std::isnan(x)) return x;
    return largest(list);
  };
  const VerifyOptions nan_second{.edges = {{tensor({{1.0, 1.0}, {__builtin_nan(""), 0.0}})}}};
  EXPECT_TRUE(verify_op(CarelessMax{}));
  const Verification result = verify_op(CarelessMax{}, right, nan_second);
  EXPECT_THAT(failures(result), ::testing::ElementsAre("edges")) << result.explain();
}

}  // namespace
}  // namespace tally
