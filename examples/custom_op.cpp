// Writing an op: swish, x · sigmoid(x), in the two ways there are. Both get their gradient checked.
#include <iostream>

#include <tally/tally.h>

using namespace tally;

// From tensors: a value, and a closure for the gradient. What backward reads stands in `saving`.
Tensor swish(const Tensor& x) {
  Tensor y = no_grad([&] { return x * sigmoid(x); });
  return record("swish", {x}, y, saving(x, output), [](const Tensor& grad, const Tensor& x, const Tensor& y) {
    return std::vector{grad * (y + sigmoid(x) * (1 - y))};
  });
}

// From scalars: one struct, one pass over memory in each direction. In a .cu the same struct also runs on the GPU.
struct Swish {
  static constexpr auto name = "swish";
  template <class C> TALLY_HD C f(C x) const { return x * math::sigmoid(x); }
  template <class C> TALLY_HD C df(C x) const {
    const C s = math::sigmoid(x);
    return s + x * s * (1 - s);
  }
};

int main() {
  const Tensor x = randn({3, 4}, {.dtype = float64});
  std::cout << "swish of " << x << "\nis " << swish(x) << "\n";

  const GradCheck composed = gradcheck(swish, {x});
  const GradCheck mapped = gradcheck([](const Tensor& x) { return map(Swish{}, x); }, {x});
  const GradCheck twice = gradgradcheck(swish, {x});
  std::cout << "from tensors: " << composed.explain() << "\nfrom scalars: " << mapped.explain()
            << "\nsecond derivative: " << twice.explain() << "\n";
  return composed && mapped && twice ? 0 : 1;
}
