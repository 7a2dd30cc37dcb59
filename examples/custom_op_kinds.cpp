// Ops with several results, with arguments that are no tensors, and with integer results; each gradient is checked.
#include <iostream>

#include <tally/examples/custom_op_kinds.h>

int main() {
  using namespace tally;
  using namespace tally::examples;

  // One of two results used: the other's upstream gradient is zeros.
  const Tensor x = tensor({0, 0.5, 1}, {.dtype = float64, .requires_grad = true});
  sum(sin_and_cos(x)[0]).backward();
  std::cout << "d sin / d x at " << x << "\nis " << x.grad() << "\n";

  const Largest largest = largest_of_rows(tensor({{3, 7, 2}, {9, 4, 8}}), tensor({0, 0, 2}));
  std::cout << "largest " << largest.values << "\nat " << largest.places << "\n";

  const Tensor points = randn({3, 4}, {.dtype = float64}), bias = randn({4}, {.dtype = float64});
  bool right = true;
  const auto report = [&](const char* what, const GradCheck& check) {
    std::cout << what << ": " << check.explain() << "\n";
    right = right && check.ok();
  };
  report("sin_and_cos", gradcheck(sin_and_cos, {points}));
  report("sin_and_cos, again", gradgradcheck(sin_and_cos, {points}));
  report("leaky_relu", gradcheck([](const Tensor& x) { return leaky_relu(x, 0.1); }, {points}));
  report("largest_of_rows", gradcheck([&](const Tensor& x) { return largest_of_rows(x, bias).values; }, {points}));
  return right ? 0 : 1;
}
