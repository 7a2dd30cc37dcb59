// A fast-math library in the process may have set another rounding mode, or zeros for subnormals: no bit depends on it,
// neither where the threads work nor in what is merged between.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/random.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/view.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace tally {
namespace {

/// For a scope: rounded up, subnormals read and written as zeros.
class FastAndLoose {
 public:
  FastAndLoose() : before_(_mm_getcsr()) { _mm_setcsr(0xdfc0); }
  ~FastAndLoose() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

struct Case {
  const char* name;
  Tensor (*f)(const Tensor&);
};
const Case kCases[] = {
    {"sum", [](const Tensor& x) { return sum(x); }},
    {"norm", [](const Tensor& x) { return norm(x); }},
    {"var", [](const Tensor& x) { return var(x); }},
    {"prod", [](const Tensor& x) { return prod(x); }},
    {"amax", [](const Tensor& x) { return amax(-x * x); }},
    {"logsumexp", [](const Tensor& x) { return logsumexp(x); }},
    {"sum of columns",
     [](const Tensor& x) {
       return sum(reshape(x, {-1, 4}), 0);
     }},
    {"gradient of prod",
     [](const Tensor& x) {
       const Tensor leaf = slice(x, 0, 0, 3000).clone().detach().requires_grad_();
       prod(leaf).backward();
       return leaf.grad();
     }},
};

TEST(FloatMode, OfTheCallerChangesNoBit) {
  manual_seed(1);
  const Tensor normal = randn({200'000});
  for (const Tensor& x : {normal, normal * 1e-39, normal * 1e-5 + 1})
    for (const Case& one : kCases) {
      const Tensor expected = one.f(x), actual = [&] {
        const FastAndLoose mode;
        return one.f(x);
      }();
      EXPECT_THAT(actual, BitEqual(expected)) << one.name << " of " << select(x, 0, 0).item<float>();
    }
}

}  // namespace
}  // namespace tally
#endif
