// What the compiler says to a struct or a closure that lacks something: compile_errors.cmake compiles each case alone.
#include <tally/autograd/gradcheck.h>
#include <tally/ops/elementwise.h>
#include <tally/ops/reduce_with.h>

using namespace tally;

struct Total {
#if !defined(REDUCTION_WITHOUT_NAME)
  static constexpr auto name = "total";
#endif
#if !defined(REDUCTION_WITHOUT_ACC)
  template <class C> using Acc = C;
#endif
#if !defined(REDUCTION_WITHOUT_LIFT)
  template <class C> TALLY_HD C lift(C x) const { return x; }
#endif
#if !defined(REDUCTION_WITHOUT_COMBINE)
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
#endif
#if !defined(REDUCTION_WITHOUT_PROJECT)
  template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
#endif
};

struct Cube {
#if !defined(MAP_WITHOUT_NAME)
  static constexpr auto name = "cube";
#endif
#if !defined(MAP_WITHOUT_F)
  template <class C> TALLY_HD C f(C x) const { return x * x * x; }
#endif
};

struct Product {
  static constexpr auto name = "product";
#if !defined(ZIP_WITHOUT_F)
  template <class C> TALLY_HD C f(C a, C b) const { return a * b; }
#endif
};

Tensor op(const Tensor& x, Where) { return x; }
#if defined(CLOSURE_WITH_WHERE)
const auto closure = op;
#elif defined(CLOSURE_WITHOUT_TENSOR)
const auto closure = [](const Tensor& x) { return x.numel(); };
#else
const auto closure = [](const Tensor& x) { return op(x, Where::here()); };
#endif

Tensor all(const Tensor& x) {
  gradcheck(closure, {x});
  return zip(Product{}, map(Cube{}, x), reduce_with(Total{}, x));
}
