// What the compiler says to a struct, a closure or a module that the library cannot use: one error each, with the
// sentence that stands in its comment. compile_errors.cmake compiles this file with and without FAULTS.
#include <string>

#include <tally/ops/binary_ops.h>
#include <tally/ops/reductions.h>
#include <tally/ops/unary_ops.h>
#include <tally/tally.h>
#if __has_include(<gmock/gmock.h>)
#include <tally/autograd/gtest.h>
#endif

using namespace tally;

// A reduction, and one of each kind of elementwise op, to which nothing is said.
struct Combine {
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
};
struct Lift {
  template <class C> TALLY_HD C lift(C x) const { return x; }
};
struct Project {
  template <class A, class C> TALLY_HD A project(A acc, std::int64_t, C) const { return acc; }
};
struct Named {
  static constexpr auto name = "named";
};
struct Plain {
  template <class C> using Acc = C;
};
struct Total : Named, Plain, Lift, Combine, Project {};
struct TotalWithAll : Total {
  template <class T> static constexpr bool accepts = is_float_type<T>;
  template <class T> using Result = T;
  template <class C> static constexpr bool any_order = false;
  template <class C> TALLY_HD C identity() const { return C(-0.0); }
  template <class C> TALLY_HD C nothing() const { return C(-0.0); }
  template <class C> TALLY_HD C lane(const C (&x)[kPerLane], int, std::int64_t, C) const { return x[0]; }
  template <class C> TALLY_HD C derivative(C, std::int64_t, C) const { return 1; }
  Tensor gradient(const Tensor& x, const Tensor&, const Tensor& grad, std::int64_t) const {
    return expand(grad, x.shape());
  }
};
struct DoubleTotal final : Total {  // not of templates, and nothing can be derived from it
  double derivative(double, double, std::int64_t, double) const { return 1; }
};
struct Map : Named {
  template <class C> TALLY_HD C f(C x) const { return x * x; }
};
struct EveryFunction : Named {
  template <class C> TALLY_HD C f(C x) const {
    return math::tanh(x) + math::sigmoid(x) + math::softplus(x) + math::erf(x) + math::exp(x) + math::expm1(x) +
           math::log(x) + math::log1p(x) + math::sqrt(x) + math::sin(x) + math::cos(x) + math::pow(x, math::abs(x));
  }
};
struct Zip : Named {
  template <class C> TALLY_HD C f(C a, C b) const { return a * b; }
};
struct MapWithAll : Map {
  static constexpr auto result = Result::real;
  static constexpr auto curvature = Curvature::recorded;
  template <class C> TALLY_HD C df(const C& x) const { return 2 * x; }
};
struct ZipWithAll : Zip {
  static constexpr auto curvature = Curvature::recorded;
  static constexpr auto da_reads = Reads::b, db_reads = Reads::a;
  template <class A, class B> TALLY_HD B da(const A&, const B& b) const { return b; }
  template <class A, class B> TALLY_HD A db(const A& a, const B&) const { return a; }
};

struct Net {
  nn::Linear hidden{2, 3};
  const nn::ReLU activation{};
  bool training = true;
  Tensor operator()(const Tensor& x) { return activation(hidden(x)); }
  void visit(nn::Visitor& visitor) {
    visitor.module("hidden", hidden);
    visitor.module("activation", activation);
  }
};

Tensor op(const Tensor& x, Where) { return x; }
void fine(const Tensor& x) {
  gradcheck([](const Tensor& one) { return op(one, Where::here()); }, {x});
  reduce_with(Total(), x);
  reduce_with(TotalWithAll(), x);
  reduce_with(DoubleTotal(), x);
  verify_op(TotalWithAll());
  map(Map(), x);
  map(EveryFunction(), x);
  map(MapWithAll(), x);
  zip(Zip(), x, 2);
  zip(ZipWithAll(), x, x);
  record("one", {x}, x, saving(x), [](const Tensor& grad, const Tensor&) { return std::vector{grad}; });
  record("two", {x}, std::vector{x, x}, saving(x),
         [](const std::vector<Tensor>& grads, const Tensor&) { return std::vector{grads[1]}; });
  Net net;
  nn::parameters(net);
  nn::Sequential model(net, nn::Dropout(0.5), nn::ReLU());
  nn::to(model, float64);
  nn::to(nn::Linear(2, 3), float64);
  const auto identity = [](const Tensor& one) { return one; };
  nn::to(identity, float64);
}

// Nor to the library's own.
template <class... Op> constexpr bool reductions(std::variant<Op...>*) {
  return (detail::check_reduction<Op>() && ...);
}
template <class... Op> constexpr bool maps(std::variant<Op...>*) { return (detail::check_map<Op>() && ...); }
template <class... Op> constexpr bool zips(std::variant<Op...>*) { return (detail::check_zip<Op>() && ...); }
static_assert(reductions(static_cast<Reduction*>(nullptr)));
static_assert(maps(static_cast<ops::Unary*>(nullptr)) && maps(static_cast<ops::Predicate*>(nullptr)));
static_assert(zips(static_cast<ops::Binary*>(nullptr)) && zips(static_cast<ops::Comparison*>(nullptr)));

#if defined(FAULTS)

// says: a reduction needs a name
struct Nameless : Plain, Lift, Combine, Project {};
// says: a reduction needs a name
struct NameOfAnObject : Plain, Lift, Combine, Project {
  const char* name = "total";
};
// says: a reduction needs an accumulator
struct WithoutAcc : Named, Lift, Combine, Project {};
// says: a reduction's Acc<C> has to be plain data
struct HeapAcc : Named, Lift, Combine, Project {
  template <class C> struct Acc {
    Acc(C x = 0) : text(std::to_string(x)) {}
    Acc operator+(const Acc&) const { return *this; }
    std::string text;
  };
};
// says: a reduction needs lift
struct WithoutLift : Named, Plain, Combine, Project {};
// says: a reduction needs combine: Acc<C> combine(Acc<C> earlier, Acc<C> later) const
struct WithoutCombine : Named, Plain, Lift, Project {};
// says: a reduction needs combine: Acc<C> combine(Acc<C> earlier, Acc<C> later) const
struct CombineNotConst : Named, Plain, Lift, Project {
  template <class C> TALLY_HD C combine(C a, C b) { return a + b; }
};
// says: a reduction needs project
struct WithoutProject : Named, Plain, Lift, Combine {};
// says: a reduction's accepts has to be
struct AcceptsOfNothing : Total {
  static constexpr bool accepts = true;
};
// says: a reduction's Result has to be
struct ResultOfNothing : Total {
  using Result = std::int64_t;
};
// says: a reduction's any_order has to be
struct AnyOrderOfNothing : Total {
  static constexpr bool any_order = true;
};
// says: a reduction's identity has to be a template
struct IdentityOfDouble : Total {
  double identity() const { return 0; }
};
// says: a reduction's nothing has to be a template
struct NothingNotConst : Total {
  template <class C> TALLY_HD C nothing() { return C(0); }
};
// says: a reduction's lane has to be
struct LaneOfPointer : Total {
  template <class C> TALLY_HD C lane(const C* x, int) const { return x[0]; }
};
// says: a reduction's derivative has to be
struct DerivativeWithoutCount : Total {
  template <class C> TALLY_HD C derivative(C x, C) const { return x; }
};
// says: a reduction's derivative has to be
struct DerivativeNotConst : Total {
  template <class C> TALLY_HD C derivative(C, std::int64_t, C) { return 1; }
};
// says: a reduction's derivative has to be
struct DerivativeOfTensors : Total {
  Tensor derivative(const Tensor& x) const { return x; }
};
// says: a reduction's derivative has to be
struct PrivateDerivative : Total {
 private:
  template <class C> TALLY_HD C derivative(C, std::int64_t, C) const { return 1; }
};
// says: a reduction's gradient has to be
struct GradientWithoutCount : Total {
  Tensor gradient(const Tensor&, const Tensor&, const Tensor& grad) const { return grad; }
};
// says: a reduction's gradient has to be
struct GradientOfLists : Total {
  std::vector<Tensor> gradient(const Tensor&, const Tensor&, const Tensor& grad, std::int64_t) const { return {grad}; }
};
// says: a reduction's derivative has to be
struct UnverifiedDerivative : Total {
  template <class C> TALLY_HD C derivative() const { return 1; }
};

struct PartsConst : Net {
  const nn::Linear last{3, 1};
  void visit(nn::Visitor& visitor) {
    // says: a const module cannot be walked
    visitor.module("last", last);
  }
};

// says: an elementwise op needs a name
struct NamelessMap {
  template <class C> TALLY_HD C f(C x) const { return x; }
};
// says: map needs f
struct MapWithoutF : Named {};
// says: map needs f
struct MapNotConst : Named {
  template <class C> TALLY_HD C f(C x) { return x; }
};
// says: map's df has to be
struct DfOfTwo : Map {
  template <class C> TALLY_HD C df(C x, C) const { return x; }
};
// says: map's df_of_result has to be
struct DfOfResultNotConst : Map {
  template <class C> TALLY_HD C df_of_result(C y) { return y; }
};
// says: an elementwise op's curvature has to be
struct CurvatureOfAnObject : Map {
  Curvature curvature = Curvature::none;
  template <class C> TALLY_HD C df(C x) const { return 2 * x; }
};
// says: an elementwise op's result has to be
struct ResultOfNoConstant : Map {
  using result = double;
};
// says: with Curvature::recorded the derivative has to take a Tensor too
struct RecordedDouble : Map {
  static constexpr auto curvature = Curvature::recorded;
  double df(double x) const { return 2 * x; }
};
// says: zip needs f
struct ZipWithoutF : Named {};
// says: zip's derivatives have to be
struct OnePartial : Zip {
  template <class C> TALLY_HD C da(C, C b) const { return b; }
};
// says: zip's derivatives have to be
struct PartialNotConst : Zip {
  template <class C> TALLY_HD C da(C, C b) const { return b; }
  template <class C> TALLY_HD C db(C a, C) { return a; }
};
// says: zip's da_reads and db_reads have to be
struct ReadsOfAnotherKind : Zip {
  static constexpr bool da_reads = true;
  template <class C> TALLY_HD C da(C, C b) const { return b; }
  template <class C> TALLY_HD C db(C a, C) const { return a; }
};
// says: with Curvature::recorded the derivatives have to take tensors and numbers in any mix
struct RecordedOfOneType : Zip {
  static constexpr auto curvature = Curvature::recorded;
  template <class C> TALLY_HD C da(const C&, const C& b) const { return b; }
  template <class C> TALLY_HD C db(const C& a, const C&) const { return a; }
};

void faults(const Tensor& x) {
  reduce_with(Nameless(), x);
  reduce_with(NameOfAnObject(), x);
  reduce_with(WithoutAcc(), x);
  reduce_with(HeapAcc(), x);
  reduce_with(WithoutLift(), x);
  reduce_with(WithoutCombine(), x);
  reduce_with(CombineNotConst(), x);
  reduce_with(WithoutProject(), x);
  reduce_with(AcceptsOfNothing(), x);
  reduce_with(ResultOfNothing(), x);
  reduce_with(AnyOrderOfNothing(), x);
  reduce_with(IdentityOfDouble(), x);
  reduce_with(NothingNotConst(), x);
  reduce_with(LaneOfPointer(), x);
  reduce_with(DerivativeWithoutCount(), x);
  reduce_with(DerivativeNotConst(), x);
  reduce_with(DerivativeOfTensors(), x);
  reduce_with(PrivateDerivative(), x);
  reduce_with(GradientWithoutCount(), x);
  reduce_with(GradientOfLists(), x);
  verify_op(UnverifiedDerivative());
  map(NamelessMap(), x);
  map(MapWithoutF(), x);
  map(MapNotConst(), x);
  map(DfOfTwo(), x);
  map(DfOfResultNotConst(), x);
  map(CurvatureOfAnObject(), x);
  map(ResultOfNoConstant(), x);
  map(RecordedDouble(), x);
  zip(ZipWithoutF(), x, x);
  zip(OnePartial(), x, x);
  zip(PartialNotConst(), x, x);
  zip(ReadsOfAnotherKind(), x, x);
  zip(RecordedOfOneType(), x, x);
  const Net net;
  // says: a const module cannot be walked
  nn::to(net, cpu);
  const nn::Sequential model{};
  // says: a const module cannot be walked
  nn::parameters(model);
  // says: deleted
  x.grad() = x;
  // says: put it into a lambda, such as
  gradcheck(op, {x});
  // says: the function has to return a Tensor
  gradcheck([](const Tensor& one) { return one.numel(); }, {x});
  // says: has to return one gradient an input as a std::vector<Tensor>
  record("one", {x}, x, saving(x), [](const Tensor& grad, const Tensor&) { return grad; });
  // says: has to take the gradient
  record("one", {x}, x, saving(x), [](const Tensor& grad) { return std::vector{grad}; });
  // says: has to take the gradient
  record("two", {x}, std::vector{x, x}, saving(), [](const Tensor& grad) { return std::vector{grad}; });
}

#endif
