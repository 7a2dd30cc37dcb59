#include <tally/nn/checkpoint.h>
#include <tally/nn/layers.h>
#include <tally/nn/loss.h>
#include <tally/nn/sequential.h>
#include <tally/ops/view.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support.h"

namespace tally::nn {
namespace {

using testing::HasSubstr;

class Directory : public OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    path_ = std::filesystem::temp_directory_path() /
            ("tally_checkpoint_" + std::to_string(::getpid()) + "_" + name_of(device));
    std::filesystem::create_directories(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

using SafetensorsTest = Directory;
TALLY_ON_EACH_DEVICE(SafetensorsTest);

TEST_P(SafetensorsTest, EveryDtypeAndShapeComesBack) {
  NamedTensors saved{{"a", make({1, -2.5, 3e-40}, {3, 1})},
                     {"b", make({1.1, 2.2}, float64)},
                     {"c", make({0.5, 65504}, float16)},
                     {"d", make({1, -3}, bfloat16)},
                     {"e", classes({1, -5})},
                     {"f", make({7, -9}, int32)},
                     {"g", make({0, 255}, uint8)},
                     {"h", make({0, 1, 1}, boolean)},
                     {"scalar", make({4}, Shape{})},
                     {"none", make({}, {0, 3})}};
  saved.push_back({"transposed", transpose(make({1, 2, 3, 4, 5, 6}, {2, 3}), 0, 1)});
  save_safetensors(file("all.safetensors"), saved, {{"made by", "a test"}});
  const Safetensors loaded = load_safetensors(file("all.safetensors"));
  EXPECT_EQ(loaded.metadata.at("made by"), "a test");
  ASSERT_EQ(loaded.tensors.size(), saved.size());
  for (const NamedTensor& one : saved) {
    const auto found = std::find_if(loaded.tensors.begin(), loaded.tensors.end(),
                                    [&](const NamedTensor& other) { return other.name == one.name; });
    ASSERT_NE(found, loaded.tensors.end()) << one.name;
    EXPECT_EQ(found->tensor.dtype(), one.tensor.dtype()) << one.name;
    EXPECT_EQ(found->tensor.shape(), one.tensor.shape()) << one.name;
    EXPECT_EQ(values(found->tensor), values(one.tensor)) << one.name;
  }
}

TEST_P(SafetensorsTest, AStateDictGoesThroughAFile) {
  Sequential from(Linear(3, 4, {.device = device}), BatchNorm1d(4, {.device = device})),
      into(Linear(3, 4), BatchNorm1d(4));
  from(ones({2, 3}, {.device = device}));
  save_safetensors(file("model.safetensors"), state_dict(from));
  load_state_dict(into, load_safetensors(file("model.safetensors")).tensors);
  for (std::size_t i = 0; i < state_dict(from).size(); ++i)
    EXPECT_EQ(values(state_dict(from)[i].tensor), values(state_dict(into)[i].tensor));
}

TEST(Safetensors, AMissingFileIsNamed) {
  EXPECT_THAT(message_of<IoError>([] { load_safetensors("/nowhere/model.safetensors"); }),
              HasSubstr("/nowhere/model.safetensors"));
}

/// A run whose every step depends on all that a checkpoint holds.
struct Trainee {
  explicit Trainee(Device device, std::int64_t width = 5)
      : generator(3),
        model(Linear(4, width, {.device = device, .generator = generator}), BatchNorm1d(width, {.device = device}),
              ReLU(), Linear(width, 3, {.device = device, .generator = generator})),
        adam(parameters(model), 0.01),
        device(device) {}

  void step() {
    const Tensor x = empty({6, 4}, {.device = device});
    fill_uniform(x, generator);
    const Tensor loss = cross_entropy(model(x), tensor(std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}).to(device));
    loss.backward();
    adam.step();
    adam.zero_grad();
  }
  std::vector<std::vector<double>> bits() {
    std::vector<std::vector<double>> all;
    for (const NamedTensor& one : state_dict(model)) all.push_back(values(one.tensor));
    for (const NamedTensor& one : adam.state()) all.push_back(values(one.tensor));
    return all;
  }

  Generator generator;
  Sequential model;
  Adam adam;
  Device device;
};

using CheckpointTest = Directory;
TALLY_ON_EACH_DEVICE(CheckpointTest);

TEST_P(CheckpointTest, ARunGoesOnBitForBit) {
  Trainee straight(device), first(device);
  for (int i = 0; i < 8; ++i) straight.step();
  for (int i = 0; i < 4; ++i) first.step();
  save_checkpoint(file("run"), first.model, first.adam,
                  {.epoch = 2, .step = 4, .batch = 1, .generator = first.generator, .notes = {{"lr", "0.01"}}});

  Trainee second(device);
  const TrainingState state = load_checkpoint(file("run"), second.model, second.adam);
  EXPECT_EQ(state.epoch, 2);
  EXPECT_EQ(state.step, 4);
  EXPECT_EQ(state.batch, 1);
  EXPECT_EQ(state.notes, (Metadata{{"lr", "0.01"}}));
  second.generator = state.generator;
  for (int i = 0; i < 4; ++i) second.step();
  EXPECT_EQ(second.bits(), straight.bits());
}

TEST_P(CheckpointTest, AnotherModelOrOptimizerIsRefusedWhole) {
  Trainee run(device), wider(device, 7);
  run.step();
  wider.step();
  save_checkpoint(file("run"), run.model, run.adam, {});
  const auto before = wider.bits();
  EXPECT_THAT(message_of<ValueError>([&] { load_checkpoint(file("run"), wider.model, wider.adam); }), HasSubstr("0."));
  EXPECT_EQ(wider.bits(), before);

  // The optimizer's part fits, the model's does not.
  Sequential other(Linear(4, 5, {.device = device}));
  Adam adam(parameters(run.model), 0.01);
  EXPECT_THROW(load_checkpoint(file("run"), other, adam), ValueError);
  EXPECT_TRUE(adam.state().empty());
}

TEST_P(CheckpointTest, DamageAnywhereIsRefusedWhole) {
  Trainee run(device);
  run.step();
  save_checkpoint(file("run"), run.model, run.adam, {});
  std::ifstream in(file("run"), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  run.step();
  const auto before = run.bits();
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(file("bad"), std::ios::binary) << bytes;
    const bool threw = !message_of<IoError>([&] { load_checkpoint(file("bad"), run.model, run.adam); }).empty();
    return threw && run.bits() == before;
  };
  for (std::size_t at = 0; at < good.size(); at += 97) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_TRUE(refused(flipped)) << "byte " << at;
    EXPECT_TRUE(refused(good.substr(0, at))) << "cut at " << at;
  }
  EXPECT_TRUE(refused(good + "x"));
}

TEST_P(CheckpointTest, AModelFileIsNoCheckpoint) {
  Trainee run(device);
  save_safetensors(file("model"), state_dict(run.model));
  EXPECT_FALSE(message_of<IoError>([&] { load_checkpoint(file("model"), run.model, run.adam); }).empty());
}

}  // namespace
}  // namespace tally::nn
