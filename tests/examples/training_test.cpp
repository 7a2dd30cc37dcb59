#include <tally/examples/classifier/report.h>
#include <tally/examples/classifier/training.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/core/error.h>
#include <tally/nn/clip.h>
#include <tally/nn/layers.h>
#include <tally/nn/loss.h>
#include <tally/ops/view.h>

namespace tally::examples {
namespace {

using testing::HasSubstr;

class TrainingTest : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (!is_available(GetParam())) GTEST_SKIP() << "no " << name_of(GetParam()) << " device";
    directory_ = std::filesystem::temp_directory_path() / ("tally_training_" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string file(const std::string& name) const { return (directory_ / name).string(); }

  /// A few of the digits: 130 images, so that the last batch has two, and 70 to test.
  ClassifierOptions options() const {
    ClassifierOptions o;
    o.device = GetParam();
    o.epochs = 4;
    o.batch = 64;
    o.learning_rate = 0.01;
    o.widths = {16};
    return o;
  }
  static Dataset few(const ClassifierOptions& o) {
    Dataset data = load_dataset(o);
    for (auto [samples, count] : {std::pair{&data.train, 130}, std::pair{&data.test, 70}})
      *samples = {narrow(samples->images, 0, 0, count), narrow(samples->labels, 0, 0, count)};
    return data;
  }

 private:
  std::filesystem::path directory_;
};
INSTANTIATE_TEST_SUITE_P(Devices, TrainingTest, testing::Values(Device::cpu, Device::cuda),
                         [](const auto& info) { return std::string(name_of(info.param)); });

std::vector<std::vector<double>> bits(Training& training) {
  std::vector<std::vector<double>> all;
  for (const nn::NamedTensor& one : nn::state_dict(training.model())) all.push_back(one.tensor.to_vector<double>());
  return all;
}

TEST_P(TrainingTest, FourEpochsAreTwoAndTwoResumedBitForBit) {
  for (const std::string optimizer : {"adam", "sgd"}) {
    ClassifierOptions o = options();
    o.optimizer = optimizer;
    Training straight(o, few(o));
    for (int i = 0; i < 4; ++i) straight.run_epoch();
    {
      Training first(o, few(o));
      for (int i = 0; i < 2; ++i) first.run_epoch();
      first.save(file("checkpoint"));
    }
    Training resumed(o, few(o));
    resumed.load(file("checkpoint"));
    EXPECT_EQ(resumed.epochs_done(), 2);
    for (int i = 0; i < 2; ++i) resumed.run_epoch();
    EXPECT_EQ(bits(resumed), bits(straight));

    const History &a = straight.history(), &b = resumed.history();
    ASSERT_EQ(b.epochs.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(a.epochs[i].train_loss, b.epochs[i].train_loss);
      EXPECT_EQ(a.epochs[i].test_accuracy, b.epochs[i].test_accuracy);
      EXPECT_EQ(a.epochs[i].learning_rate, b.epochs[i].learning_rate);
    }
    ASSERT_EQ(b.steps.size(), 12u);  // 64, 64 and 2 images an epoch
    EXPECT_EQ(a.steps[0].gradient_norm, b.steps[0].gradient_norm);
  }
}

TEST_P(TrainingTest, LearnsAndTheSeedDecidesEverything) {
  ClassifierOptions o = options();
  o.epochs = 12;
  Training a(o, few(o)), b(o, few(o));
  o.seed = 1;
  Training c(o, few(o));
  EpochMetrics last;
  for (int i = 0; i < 12; ++i) {
    last = a.run_epoch();
    b.run_epoch();
    c.run_epoch();
  }
  EXPECT_LT(last.train_loss, 0.5 * a.history().epochs[0].train_loss);
  EXPECT_GT(last.test_accuracy, 0.6);
  EXPECT_EQ(bits(a), bits(b));
  EXPECT_NE(bits(a), bits(c));
}

TEST_P(TrainingTest, BothDevicesStartFromEqualBitsAndTheirLossesAgree) {
  ClassifierOptions o = options();
  Training here(o, few(o));
  o.device = Device::cpu;
  Training there(o, few(o));
  EXPECT_EQ(bits(here), bits(there));
  for (int epoch = 0; epoch < 2; ++epoch) {
    here.run_epoch();
    there.run_epoch();
  }
  for (std::size_t i = 0; i < 5; ++i) {
    const double loss = there.history().steps[i].loss;
    EXPECT_NEAR(here.history().steps[i].loss, loss, 1e-5 * loss) << "step " << i;
  }
}

// Left alone the devices drift apart once one ReLU flips, so each step starts from the CPU's parameters.
TEST_P(TrainingTest, LossesAgreeInEachOfAHundredStepsFromEqualParameters) {
  const Dataset data = few(options());
  const auto make = [](Device device) {
    Generator generator(7);
    return nn::Sequential(nn::Linear(64, 32, {.device = device, .generator = generator}),
                          nn::BatchNorm1d(32, {.device = device}), nn::ReLU(),
                          nn::Linear(32, 10, {.device = device, .generator = generator}));
  };
  nn::Sequential here = make(GetParam()), there = make(Device::cpu);
  nn::Adam adam(nn::parameters(there), 0.01);
  for (int step = 0; step < 100; ++step) {
    nn::load_state_dict(here, nn::state_dict(there));
    const Tensor x = narrow(data.train.images, 0, step % 60, 64), y = narrow(data.train.labels, 0, step % 60, 64);
    const Tensor loss = cross_entropy(there(x.to(Device::cpu)), y.to(Device::cpu));
    const double expected = loss.item<double>();
    EXPECT_NEAR(cross_entropy(here(x), y).item<double>(), expected, 1e-5 * expected) << "step " << step;
    nn::zero_grad(there);
    loss.backward();
    nn::clip_grad_norm_(nn::parameters(there), 1);
    adam.step();
  }
}

TEST_P(TrainingTest, ACheckpointOfAnotherRunIsRefused) {
  ClassifierOptions o = options();
  Training first(o, few(o));
  first.save(file("checkpoint"));
  o.learning_rate = 0.02;
  o.widths = {8};
  Training other(o, few(o));
  const auto before = bits(other);
  try {
    other.load(file("checkpoint"));
    FAIL() << "nothing thrown";
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--widths was 16, is 8"));
    EXPECT_THAT(error.what(), HasSubstr("--lr was 0.01"));
  }
  EXPECT_EQ(bits(other), before);
}

TEST_P(TrainingTest, TheOutputDirectoryGetsItsFiles) {
  const ClassifierOptions o = options();
  const OutputDirectory out(file("deep/er"));
  Training training(o, few(o));
  training.run_epoch();
  out.write_epoch(training, o);
  out.write_result(training, training.test().confusion, "digits");
  for (const std::string name :
       {"metrics.csv", "curves.svg", "confusion.svg", "model.safetensors", "checkpoint.safetensors"})
    EXPECT_GT(std::filesystem::file_size(file("deep/er/" + name)), 0u) << name;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file("deep/er")), {}), 5);
}

TEST_P(TrainingTest, WhereTheCheckpointIsTheMetricsAreToo) {
  // A run that is killed between the two and resumed has no epoch left to write the metrics of.
  const ClassifierOptions o = options();
  const OutputDirectory out(file("out"));
  Training training(o, few(o));
  training.run_epoch();
  std::filesystem::create_directories(out.checkpoint());  // nothing can be written there
  EXPECT_THROW(out.write_epoch(training, o), IoError);
  for (const std::string name : {"metrics.csv", "curves.svg"})
    EXPECT_TRUE(std::filesystem::exists(file("out/" + name))) << name;
}

TEST_P(TrainingTest, ARunThatIsReplacedIsKnownAndADamagedOneNamesTheWayOut) {
  const ClassifierOptions o = options();
  EXPECT_FALSE(OutputDirectory(file("out")).replaces());
  Training training(o, few(o));
  training.save(OutputDirectory(file("out")).checkpoint());
  EXPECT_TRUE(OutputDirectory(file("out")).replaces());
  EXPECT_FALSE(OutputDirectory(file("out"), true).replaces());
  const std::string checkpoint = OutputDirectory(file("out")).checkpoint();
  std::filesystem::resize_file(checkpoint, std::filesystem::file_size(checkpoint) / 2);
  try {
    training.load(checkpoint);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith("--resume: "), HasSubstr("start without it")));
  }
}

TEST(OutputDirectory, AFileInTheWayIsSaidAtOnce) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tally_out_" + std::to_string(::getpid()));
  std::ofstream(path) << "in the way";
  EXPECT_THROW(OutputDirectory(path.string()), IoError);
  EXPECT_THROW(OutputDirectory((path / "below").string()), IoError);
  std::filesystem::remove(path);
}

std::string refusal(const std::vector<const char*>& flags) {
  std::vector<const char*> line{"train_classifier"};
  line.insert(line.end(), flags.begin(), flags.end());
  try {
    parse_options(static_cast<int>(line.size()), line.data());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ClassifierOptions, WhatMakesNoSenseIsSaidInOneLine) {
  EXPECT_THAT(refusal({"--no-such"}), HasSubstr("--no-such"));
  EXPECT_THAT(refusal({"--batch", "1"}), HasSubstr("batch norm"));
  EXPECT_THAT(refusal({"--batch", "many"}), HasSubstr("many"));
  EXPECT_THAT(refusal({"--epochs", "-3"}), HasSubstr("epochs"));
  EXPECT_THAT(refusal({"--epochs", "1.5"}), HasSubstr("takes a whole number from 1 to 1000000, not 1.5"));
  EXPECT_THAT(refusal({"--data", "fashion-mnist"}), HasSubstr("examples/train.sh"));
  EXPECT_THAT(refusal({"--optimizer", "lion"}), HasSubstr("lion"));
  for (const char* widths : {"16,0", "3,,4", "3,", ",3", "", "1000000000", "16 8", "x"})
    EXPECT_THAT(
        refusal({"--widths", widths}),
        HasSubstr(std::string("--widths: takes whole numbers from 1 to 1000000 with commas between, not ") + widths));
  EXPECT_THAT(refusal({"--seed", "1.5"}), HasSubstr("takes a whole number from 0 up, not 1.5"));
  EXPECT_THAT(refusal({"--wrong", "3"}), testing::StartsWith("not expected: --wrong 3;"));
  EXPECT_THAT(refusal({"--seed", "-1"}), HasSubstr("seed"));
  EXPECT_THAT(refusal({"--resume"}), HasSubstr("--out"));
  EXPECT_THAT(refusal({"--lr", "0"}), HasSubstr("lr"));
  for (const auto& flags : {std::vector<const char*>{"--no-such"}, {"--batch", "1"}, {"--lr", "x"}})
    EXPECT_EQ(refusal(flags).find('\n'), std::string::npos);
}

TEST(ClassifierOptions, AreRead) {
  const char* line[] = {"train_classifier", "--widths", "8,4", "--optimizer", "sgd", "--seed", "7", "--data", "d"};
  const auto o = parse_options(9, line);
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->widths, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(o->seed, 7u);
  EXPECT_EQ(o->epochs, 10);
  EXPECT_EQ(o->learning_rate, 0.05);
}

}  // namespace
}  // namespace tally::examples
