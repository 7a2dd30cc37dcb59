// The norm of all gradients in a process with a fast-math library, which may have set another rounding mode.
#include <tally/autograd/gtest.h>
#include <tally/core/random.h>
#include <tally/nn/clip.h>
#include <tally/nn/module.h>
#include <tally/ops/operators.h>

#include <cfenv>

namespace tally {
namespace {

TEST(ClipFloatMode, OfTheCallerChangesNoBit) {
  for (const double order : {1.0, 2.0, 3.0}) {
    std::vector<Tensor> norms, gradients;
    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD}) {
      manual_seed(1);
      nn::NamedTensors parameters;
      for (int i = 0; i < 9; ++i) {
        const Tensor parameter = zeros({7}, {.requires_grad = true});
        parameter.set_grad(randn({7}));
        parameters.push_back({std::to_string(i), parameter});
      }
      std::fesetround(mode);
      norms.push_back(nn::clip_grad_norm_(parameters, 0.7, order));
      std::fesetround(FE_TONEAREST);
      gradients.push_back(parameters[0].tensor.grad());
    }
    for (std::size_t i = 1; i < norms.size(); ++i) {
      EXPECT_THAT(norms[i], BitEqual(norms[0])) << "order " << order;
      EXPECT_THAT(gradients[i], BitEqual(gradients[0])) << "order " << order;
    }
  }
}

}  // namespace
}  // namespace tally
