// The bits of normalisations and cross entropy, on every device, against tests/nn/golden.txt.
#include <tally/autograd/backward.h>
#include <tally/nn/batch_norm.h>
#include <tally/nn/loss.h>
#include <tally/nn/normalization.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/golden.h>
#include <tally/tests/support/numbers.h>

namespace tally {
namespace {

class GoldenBits : public test::OnDevice {
 protected:
  Tensor numbers(const Shape& shape, DType dtype, std::uint64_t seed, test::Range range = test::Range::both_signs) {
    return test::numbers(shape, dtype, range, seed).to(device());
  }
  Tensor leaf(const Shape& shape, DType dtype, std::uint64_t seed, test::Range range = test::Range::both_signs) {
    return numbers(shape, dtype, seed, range).detach().requires_grad_();
  }
  /// The results and the gradients of the first one, weighted.
  std::string bits(const std::vector<Tensor>& results, const std::vector<Tensor>& leaves) {
    std::string all;
    for (const Tensor& y : results) all += (all.empty() ? "" : "/") + test::fingerprint(y.detach());
    const Tensor& y = results[0];
    for (const Tensor& g : grad({y}, leaves, {numbers(y.shape(), y.dtype(), 99)})) all += "/" + test::fingerprint(g);
    return all;
  }
};
TALLY_TEST_ON_DEVICES(GoldenBits);

TEST_P(GoldenBits, OfNormalisationsAndCrossEntropy) {
  test::Golden golden(TALLY_SOURCE_DIR "/tests/nn/golden.txt");
  constexpr auto positive = test::Range::around_one;
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    const auto check = [&](const char* op, const std::string& bits) {
      golden.check(std::string(op) + " " + name_of(dtype), bits);
    };
    {
      const Tensor x = leaf({5, 300}, dtype, 1), weight = leaf({300}, dtype, 2, positive), bias = leaf({300}, dtype, 3);
      check("layer_norm", bits({layer_norm(x, {300}, {.weight = weight, .bias = bias})}, {x, weight, bias}));
      check("rms_norm", bits({rms_norm(x, {300}, {.weight = weight})}, {x, weight}));
    }
    for (const auto& [name, shape] :
         {std::pair("batch_norm", Shape{150, 3}), {"batch_norm of images", {9, 3, 20, 7}}}) {
      const DType wide = dtype == float64 ? float64 : float32;
      const Tensor x = leaf(shape, dtype, 4), weight = leaf({3}, wide, 5, positive), bias = leaf({3}, wide, 6);
      const RunningStatistics running{numbers({3}, wide, 7), numbers({3}, wide, 8, positive), zeros({}, on(int64))};
      const Tensor y = batch_norm(x, running, weight, bias);
      check(name, bits({y, running.mean, running.var}, {x, weight, bias}));
    }
    {
      const Tensor logits = leaf({7, 140}, dtype, 9);
      const Tensor target = tensor(std::vector<std::int64_t>{0, 139, -100, 77, 3, 128, 5}).to(device());
      const Tensor weight = numbers({140}, dtype, 10, positive);
      check("cross_entropy", bits({cross_entropy(logits, target)}, {logits}));
      check("cross_entropy of each",
            bits({cross_entropy(logits, target, {.reduction = LossReduction::none})}, {logits}));
      check("cross_entropy, smoothed and weighted",
            bits({cross_entropy(logits, target, {.label_smoothing = 0.125, .weight = weight})}, {logits}));
      check("cross_entropy with probabilities",
            bits({cross_entropy(logits, numbers({7, 140}, dtype, 11, positive))}, {logits}));
    }
  }
  golden.finish();
}

}  // namespace
}  // namespace tally
