// Eigen on the user's side, Tally's storage under it and the reverse: memory that one side allocates and the other
// reads, at whatever width this file is compiled for.
#include <Eigen/Dense>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <tally/tally.h>

using namespace tally;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<Matrix, Eigen::Aligned64>;  // asserts the alignment that it promises

View view(const Tensor& x) { return {x.data<double>(), x.size(0), x.size(1)}; }

int main() {
  double worst = 0;
  std::vector<Tensor> kept;
  for (std::int64_t n = 1; n <= 40; ++n) {
    const Tensor a = randn({n, n + 1}, {.dtype = float64, .requires_grad = true}),
                 b = randn({n + 1, n}, {.dtype = float64});
    if (reinterpret_cast<std::uintptr_t>(a.raw()) % 64 != 0) return std::puts("not aligned to 64 bytes"), 1;

    const Matrix product = view(a) * view(b);  // Eigen as it is here, against Eigen as it is in the library
    const Tensor same = matmul(a, b);
    worst = std::max(worst, (view(same) - product).cwiseAbs().maxCoeff());

    sum(same).backward();  // d sum(ab) / da: the row sums of b, in each row
    const Matrix expected = Matrix::Ones(n, n) * view(b).transpose();
    worst = std::max(worst, (view(a.grad()) - expected).cwiseAbs().maxCoeff());

    const std::vector<double> copy(product.data(), product.data() + product.size());
    kept.push_back(tensor(copy, {n, n}) + Number(n));
    if (n % 3 == 0) kept.erase(kept.begin());
  }
  std::printf("largest difference %g\n", worst);
  return worst < 1e-12 ? 0 : 1;
}
