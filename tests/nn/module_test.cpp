#include <tally/nn/layers.h>
#include <tally/nn/module.h>
#include <tally/nn/sequential.h>
#include <tally/ops/matmul.h>

#include "support.h"

namespace tally::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const NamedTensors& tensors) {
  std::vector<std::string> found;
  for (const NamedTensor& one : tensors) found.push_back(one.name);
  return found;
}

Sequential classifier(std::int64_t in = 3) {
  return Sequential(Linear(in, 4), BatchNorm1d(4), ReLU(), Linear(4, 2, {.bias = false}));
}

/// A module as a user writes one.
struct Net {
  Linear hidden{3, 4}, out{4, 2};
  Dropout dropout{0.5};
  Tensor operator()(const Tensor& x) { return out(dropout(relu(hidden(x)))); }
  void visit(Visitor& visitor) {
    visitor.module("hidden", hidden);
    visitor.module("dropout", dropout);
    visitor.module("out", out);
  }
};

using ModuleTest = OnEachDevice;
TALLY_ON_EACH_DEVICE(ModuleTest);

TEST(ModuleNames, ArePyTorchs) {
  Sequential model = classifier();
  EXPECT_THAT(names(state_dict(model)), ElementsAre("0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                                    "1.running_var", "1.num_batches_tracked", "3.weight"));
  EXPECT_THAT(names(parameters(model)), ElementsAre("0.weight", "0.bias", "1.weight", "1.bias", "3.weight"));
  EXPECT_THAT(names(buffers(model)), ElementsAre("1.running_mean", "1.running_var", "1.num_batches_tracked"));
  EXPECT_EQ(parameter_count(model), 12 + 4 + 4 + 4 + 8);
}

TEST(ModuleNames, OfAUsersStructAndALambda) {
  Net net;
  EXPECT_THAT(names(parameters(net)), ElementsAre("hidden.weight", "hidden.bias", "out.weight", "out.bias"));
  Sequential around(Net{}, [](const Tensor& x) { return x * 2; });
  EXPECT_THAT(names(parameters(around)), ElementsAre("0.hidden.weight", "0.hidden.bias", "0.out.weight", "0.out.bias"));
  EXPECT_EQ(around(ones({5, 3})).shape(), Shape({5, 2}));
}

TEST(ModuleFlags, TrainAndEvalReachEveryPart) {
  Net net;
  eval(net);
  EXPECT_FALSE(net.dropout.training);
  const Tensor x = ones({4, 3});
  EXPECT_EQ(values(net(x)), values(net(x)));  // no element is dropped
  train(net);
  EXPECT_TRUE(net.dropout.training);
}

TEST_P(ModuleTest, LinearComputesByHand) {
  Linear linear(2, 3, {.device = device});
  load_state_dict(linear, {{"weight", make({1, 2, 3, 4, 5, 6}, {3, 2})}, {"bias", make({10, 20, 30})}});
  EXPECT_TRUE(near(linear(make({1, -1, 2, 0.5}, {2, 2})), {9, 19, 29, 13, 28, 43}));
}

TEST_P(ModuleTest, StateDictLoadsAcrossModelsAndDevices) {
  Sequential from = classifier();
  Sequential into = classifier();
  to(into, device);
  from(randn({5, 3}));  // moves the buffers
  load_state_dict(into, state_dict(from));
  const NamedTensors a = state_dict(from), b = state_dict(into);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(b[i].tensor.device(), device);
    EXPECT_EQ(values(a[i].tensor), values(b[i].tensor)) << a[i].name;
  }
}

TEST(LoadStateDict, NamesEveryProblemAndChangesNothing) {
  Sequential model = classifier();
  const std::vector<double> before = values(state_dict(model)[0].tensor);
  NamedTensors state = state_dict(classifier());
  state[1].name = "0.extra";                        // 0.bias is missing
  state[2].tensor = zeros({5});                     // 1.weight
  state[6].tensor = zeros({}, {.dtype = float32});  // 1.num_batches_tracked
  const std::string text = message_of<ValueError>([&] { load_state_dict(model, state); });
  EXPECT_THAT(text, HasSubstr("0.bias is missing"));
  EXPECT_THAT(text, HasSubstr("0.extra is not in the module"));
  EXPECT_THAT(text, HasSubstr("1.weight is float32 [5], the module's float32 [4]"));
  EXPECT_THAT(text, HasSubstr("1.num_batches_tracked is float32 [], the module's int64 []"));
  EXPECT_EQ(values(state_dict(model)[0].tensor), before);
}

TEST_P(ModuleTest, ToMovesTheTensorsThatOthersHold) {
  Sequential model = classifier();
  const NamedTensors held = parameters(model);
  const std::vector<double> before = values(held[0].tensor);
  to(model, device);
  EXPECT_EQ(held[0].tensor.device(), device);
  EXPECT_TRUE(held[0].tensor.requires_grad() && held[0].tensor.is_leaf());
  EXPECT_EQ(values(held[0].tensor), before);
  to(model, float64);
  EXPECT_EQ(held[0].tensor.dtype(), float64);
  EXPECT_EQ(state_dict(model)[6].tensor.dtype(), int64);
  EXPECT_EQ(values(held[0].tensor), before);
}

TEST(ModuleTo, BackwardSeesThatASavedParameterMoved) {
  Linear linear(2, 1);
  const Tensor x = ones({1, 2}, {.requires_grad = true});
  const Tensor y = sum(linear(x));
  to(linear, float64);
  EXPECT_THROW(y.backward(), AutogradError);
}

}  // namespace
}  // namespace tally::nn
