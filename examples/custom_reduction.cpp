// Writing a reduction: the sum of Huber's function, x² / 2 up to delta and delta (|x| - delta / 2) beyond. The struct
// is all there is to write: order, layouts, dims and the gradient come from the library.
#include <iostream>

#include <tally/tally.h>

using namespace tally;

struct HuberSum {
  static constexpr auto name = "huber_sum";
  template <class T> static constexpr bool accepts = is_float_type<T>;
  double delta = 1;
  template <class C> using Acc = C;
  template <class C> TALLY_HD C identity() const { return C(0); }
  template <class C> TALLY_HD C lift(C x) const {
    const C d = static_cast<C>(delta), size = math::abs(x);
    return size > d ? d * (size - d / 2) : x * x / 2;
  }
  template <class C> TALLY_HD C combine(C a, C b) const { return a + b; }
  template <class C> TALLY_HD C project(C acc, std::int64_t, C) const { return acc; }
  template <class C> TALLY_HD C derivative(C x, C, std::int64_t, C) const {
    const C d = static_cast<C>(delta);
    return math::abs(x) > d ? math::copysign(d, x) : x;
  }
};

int main() {
  const Tensor x = tensor({{3, -0.5, 0.25, -2}, {1.5, 0.1, -0.2, 4}}, {.dtype = float64});
  const auto rows = [](const Tensor& x) { return reduce_with(HuberSum{.delta = 0.75}, x, 1); };
  std::cout << "Huber sums of the rows of " << x << "\nare " << rows(x) << "\n";

  const GradCheck check = gradcheck(rows, {x});
  std::cout << check.explain() << "\n";
  return check ? 0 : 1;
}
