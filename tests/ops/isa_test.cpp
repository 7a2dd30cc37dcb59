// The vector loops of every instruction set this machine has, against the general loops, bit for bit: an op of one's
// own has only those.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/parallel.h>
#include <tally/core/random.h>
#include <tally/ops/cpu/isa.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/reduce_with.h>
#include <tally/ops/softmax.h>
#include <tally/ops/unary.h>
#include <tally/ops/view.h>

#include <cfenv>
#include <cmath>
#include <type_traits>

namespace tally {
namespace {

/// The op again, as somebody's own; of the types compared here, which is less to compile.
template <class Op> struct General : Op {
  template <class T> static constexpr bool accepts = is_float_type<T> && !std::is_same_v<T, BFloat16>;
};
template <bool Largest> struct Place : Extreme<Largest> {
  template <class T> using Result = std::int64_t;
  template <class A, class C> std::int64_t project(A acc, std::int64_t, C) const { return acc.index; }
};

struct Pairing {
  const char* name;
  Tensor (*ours)(const Tensor&, Dims);
  Tensor (*general)(const Tensor&, Dims);
  bool counts_ties = false;  // which only the gradient shows
};
template <class Op> Tensor by_general(const Tensor& x, Dims dims) { return reduce_with(General<Op>{}, x, dims); }

const Pairing kPairings[] = {
    {"sum", [](const Tensor& x, Dims d) { return sum(x, d); }, by_general<Sum>},
    {"mean", [](const Tensor& x, Dims d) { return mean(x, d); }, by_general<Mean>},
    {"prod", [](const Tensor& x, Dims d) { return prod(x, d); }, by_general<Prod>},
    {"max", [](const Tensor& x, Dims d) { return max(x, d); }, by_general<Max>},
    {"min", [](const Tensor& x, Dims d) { return min(x, d); }, by_general<Min>},
    {"argmax", [](const Tensor& x, Dims d) { return argmax(x, d); }, by_general<Place<true>>},
    {"argmin", [](const Tensor& x, Dims d) { return argmin(x, d); }, by_general<Place<false>>},
    {"amax", [](const Tensor& x, Dims d) { return amax(x, d); }, by_general<AMax>, true},
    {"amin", [](const Tensor& x, Dims d) { return amin(x, d); }, by_general<AMin>, true},
    {"count_nonzero", [](const Tensor& x, Dims d) { return count_nonzero(x, d); }, by_general<CountNonzero>},
    {"norm", [](const Tensor& x, Dims d) { return norm(x, 2, d); }, by_general<Norm2>},
    {"norm of order 1", [](const Tensor& x, Dims d) { return norm(x, 1, d); }, by_general<Norm1>},
    {"norm of order 0", [](const Tensor& x, Dims d) { return norm(x, 0, d); }, by_general<Norm0>},
    {"norm of order inf", [](const Tensor& x, Dims d) { return norm(x, INFINITY, d); }, by_general<NormInf<true>>,
     true},
    {"norm of order -inf", [](const Tensor& x, Dims d) { return norm(x, -INFINITY, d); }, by_general<NormInf<false>>,
     true},
    {"var", [](const Tensor& x, Dims d) { return var(x, d); }, by_general<Var>},
    {"std", [](const Tensor& x, Dims d) { return tally::std(x, d); }, by_general<Std>},
    {"logsumexp", [](const Tensor& x, Dims d) { return logsumexp(x, d); }, by_general<LogSumExp>},
};

Tensor normal(const Shape& shape, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  Tensor x = empty(shape, {.dtype = float64});
  fill_normal(x, generator);
  return x.to(dtype);
}

constexpr std::int64_t kRow = 2101;  // of the values below: two tiles and some

/// x with every element changed by its number in memory.
Tensor changed(const Tensor& x, double (*f)(double, std::int64_t)) {
  std::vector<double> values = x.to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(values[i], static_cast<std::int64_t>(i));
  return tensor(values, x.shape()).to(x.dtype());
}

// Factors of which 8 in a lane become subnormal on the way and come back, with a product in range: floats, and with 7.5
// for `times` doubles.
double balanced(double x, std::int64_t i, double times = 1) {
  constexpr int exponents[] = {0, -100, -40, 120, 90, 0, -110, 40};
  const std::int64_t place = i % kRow, row = place % 1024 / 128;
  return std::ldexp(std::copysign(1 + std::abs(x) / 4096, x),
                    place < 2048 ? static_cast<int>(times * exponents[row]) : 0);
}

struct Values {
  const char* name;
  double (*f)(double, std::int64_t);
};
// What the vector loops take, what they leave to the general ones, and what lies on the border.
const Values kValues[] = {
    {"normal", [](double x, std::int64_t) { return x; }},
    {"far from zero", [](double x, std::int64_t) { return x + 1000; }},
    {"few values", [](double x, std::int64_t) { return std::trunc(x); }},
    {"negative zeros", [](double, std::int64_t) { return -0.0; }},
    {"negative infinity", [](double, std::int64_t) -> double { return -INFINITY; }},
    {"zeros of both signs", [](double x, std::int64_t) { return std::copysign(0.0, x); }},
    {"steps of the range", [](double x, std::int64_t i) { return std::ldexp(x, static_cast<int>(i * 7 % 131) - 65); }},
    {"ends of the range", [](double x, std::int64_t i) { return std::ldexp(x, i % 3 ? -120 : 120); }},
    {"some tiny", [](double x, std::int64_t i) { return i / 3000 % 2 ? std::ldexp(x, -100) : x; }},
    {"a NaN", [](double x, std::int64_t i) { return i == 1500 ? NAN : x; }},
    {"infinities", [](double x, std::int64_t i) { return i % 1901 == 1500 ? std::copysign(INFINITY, x) : x; }},
    {"squares that are subnormal", [](double x, std::int64_t) { return std::ldexp(x, -66); }},
    {"factors that come back", [](double x, std::int64_t i) { return balanced(x, i); }},
    {"factors that come back to double", [](double x, std::int64_t i) { return balanced(x, i, 7.5); }},
    {"factors with a zero, or below the normal numbers",
     [](double x, std::int64_t i) {
       if (i % kRow == 1501) return std::ldexp(balanced(x, i), i / kRow == 2 ? 100 : 0);
       if (i % kRow != 1500) return balanced(x, i);
       return i / kRow == 0 ? 0.0 : i / kRow == 1 ? -0.0 : i / kRow == 2 ? std::ldexp(1.7, -130) : 1.5;
     }},
    {"factors of all sizes whose product is near 1",
     [](double x, std::int64_t i) { return std::copysign(i % 8 < 4 ? 1.05 : 1 / 1.05, x); }},
    {"one factor below the normal numbers",
     [](double x, std::int64_t i) {
       return i == 1500 ? std::ldexp(1.7, -130) : i == 1501 ? std::ldexp(x, 100) : 1 + x / 65536;
     }},
    {"masked", [](double x, std::int64_t i) { return i % 7 ? -INFINITY : x; }},
};

std::vector<Tensor> results(const Pairing& op, Tensor (*f)(const Tensor&, Dims), const Tensor& x, Dims dims) {
  if (!op.counts_ties) return {f(x, dims)};
  const Tensor leaf = x.detach().requires_grad_(), y = f(leaf, dims);
  // What is wanted alone, and what is wanted for a gradient too.
  return {f(x, dims), y.detach(), grad({y}, {leaf}, {ones(y.shape(), {.dtype = y.dtype()})})[0]};
}

/// With every instruction set and with one thread and three.
void expect_equal_bits(const Tensor& x, Dims dims, const std::string& where) {
  const detail::Isa best = detail::isa();
  const int threads = num_threads();
  for (const Pairing& op : kPairings) {
    const std::vector<Tensor> expected = results(op, op.general, x, dims);
    for (const detail::Isa isa : detail::available_isas())
      for (const int count : {1, 3}) {
        detail::set_isa(isa);
        set_num_threads(count);
        const std::vector<Tensor> actual = results(op, op.ours, x, dims);
        for (std::size_t i = 0; i < expected.size(); ++i)
          EXPECT_THAT(actual[i], BitEqual(expected[i]))
              << op.name << (i == 2 ? ", gradient, of " : " of ") << where << " " << to_string(x.shape())
              << ", instruction set " << static_cast<int>(isa) << ", " << count << " threads";
        detail::set_isa(best);
        set_num_threads(threads);
      }
  }
}

TEST(InstructionSets, AgreeOnRows) {
  for (const std::int64_t n : {1, 3, 7, 16, 17, 49, 100, 127, 128, 129, 200, 1000, 1023, 1024, 1025, 2048, 5000})
    expect_equal_bits(normal({5, n}, n % 2 ? float32 : float64, 1), 1, "normal");
}

TEST(InstructionSets, AgreeOnColumns) {
  for (const std::int64_t n : {1, 2, 5, 127, 128, 129, 300, 1024, 1100, 4200})
    for (const std::int64_t width : {4, 17, 33})
      expect_equal_bits(normal({n, width}, n % 2 ? float64 : float32, 2), 0, "normal");
  expect_equal_bits(normal({130, 1030}, float32, 3), 0, "normal");
}

TEST(InstructionSets, AgreeOnEveryKindOfValue) {
  for (const Values& values : kValues)
    for (const DType dtype : {float32, float64}) {
      const Tensor x = changed(normal({5, kRow}, dtype, 4), values.f);
      expect_equal_bits(x, 1, values.name);
      expect_equal_bits(x, {}, values.name);
      expect_equal_bits(transpose(x, 0, 1).contiguous(), 0, values.name);
    }
}

// More rows than a vector has places, which share a tree, and some over.
TEST(InstructionSets, AgreeOnRowsThatEndTogether) {
  for (const Values& values : kValues)
    for (const std::int64_t n : {1, 7, 40, 64, 130, 300})
      for (const DType dtype : {float32, float64})
        expect_equal_bits(changed(normal({37, n}, dtype, 7), values.f), 1, values.name);
}

TEST(InstructionSets, AgreeOnManyTiles) {
  expect_equal_bits(normal({300'001}, float32, 5), {}, "normal");
  // Tiles that are merged by sixteen, among them some that the vector loops refuse.
  for (const Values& values : kValues)
    for (const DType dtype : {float32, float64})
      expect_equal_bits(changed(normal({40'000}, dtype, 9), values.f), {}, values.name);
}

// Products ask the processor whether one of them was rounded below the normal numbers, extremes whether one is NaN.
TEST(InstructionSets, LeaveWhatTheProcessorHasNoted) {
  const detail::Isa best = detail::isa();
  constexpr Tensor (*ops[])(const Tensor&, Dims) = {[](const Tensor& x, Dims d) { return prod(x, d); },
                                                    [](const Tensor& x, Dims d) { return amax(x, d); }};
  for (const detail::Isa isa : detail::available_isas())
    for (const Shape& shape : {Shape{4, 20}, Shape{40, 20}, Shape{3, 2000}, Shape{2000, 5}})
      for (const int dim : {0, 1})
        for (const auto op : ops) {
          detail::set_isa(isa);
          std::feclearexcept(FE_ALL_EXCEPT);
          std::feraiseexcept(FE_UNDERFLOW | FE_INVALID);
          op(ones(shape), {dim});
          EXPECT_EQ(std::fetestexcept(FE_UNDERFLOW | FE_INVALID), FE_UNDERFLOW | FE_INVALID)
              << to_string(shape) << " over " << dim << ", instruction set " << static_cast<int>(isa);
          std::feclearexcept(FE_ALL_EXCEPT);
        }
  detail::set_isa(best);
}

TEST(InstructionSets, AgreeOnHalvesAndViews) {
  const Tensor x = normal({40, 130, 9}, float32, 6);
  for (const Dims& dims : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 2}, Dims{1, 2}}) {
    expect_equal_bits(x.to(float16), dims, "halves");
    expect_equal_bits(narrow(x, 2, 1, 7), dims, "a slice");
    expect_equal_bits(transpose(x, 0, 2), dims, "a transpose");
  }
}

struct Function {
  const char* name;
  Tensor (*f)(const Tensor&);
};
const Function kFunctions[] = {
    {"exp", [](const Tensor& x) { return exp(x); }},
    {"expm1", [](const Tensor& x) { return expm1(x); }},
    {"log", [](const Tensor& x) { return log(x); }},
    {"log1p", [](const Tensor& x) { return log1p(x); }},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }},
    {"rsqrt", [](const Tensor& x) { return rsqrt(x); }},
    {"reciprocal", [](const Tensor& x) { return reciprocal(x); }},
    {"sin", [](const Tensor& x) { return sin(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"erf", [](const Tensor& x) { return erf(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"div", [](const Tensor& x) { return 3 / x; }},
    {"softmax", [](const Tensor& x) { return softmax(x, 1); }},
    {"log_softmax", [](const Tensor& x) { return log_softmax(x, 1); }},
    {"softmax over columns", [](const Tensor& x) { return softmax(x, 0); }},
};

/// The result and the gradient.
std::vector<Tensor> both(const Function& function, const Tensor& x) {
  const Tensor leaf = x.clone().requires_grad_();
  const Tensor y = function.f(leaf);
  return {y.detach(), grad({y}, {leaf}, {normal(x.shape(), x.dtype(), 7)})[0]};
}

TEST(InstructionSets, AgreeOnElementwiseOps) {
  const detail::Isa best = detail::isa();
  for (const Values& values : kValues)
    for (const DType dtype : {float32, float16, float64}) {
      const Tensor x = changed(normal({3, 1037}, dtype, 8), values.f);
      for (const Function& function : kFunctions) {
        detail::set_isa(detail::Isa::baseline);
        const std::vector<Tensor> expected = both(function, x);
        for (const detail::Isa isa : detail::available_isas()) {
          detail::set_isa(isa);
          const std::vector<Tensor> results = both(function, x);
          for (std::size_t i = 0; i < 2; ++i)
            EXPECT_THAT(results[i], BitEqual(expected[i]))
                << (i ? "gradient of " : "") << function.name << " of " << values.name << ", instruction set "
                << static_cast<int>(isa);
        }
        detail::set_isa(best);
      }
    }
}

}  // namespace
}  // namespace tally
