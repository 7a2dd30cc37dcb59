#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tally/tally.h>

namespace tally::nn {
namespace {

TEST(Summary, ListsEachTensorAndTheTotals) {
  Sequential model(Linear(64, 8), BatchNorm1d(8), ReLU(), Linear(8, 3, {.bias = false}));
  // 64·8 + 8, 2·8, 8·3 trained; 2·8 + 1 in buffers, the count of 8 bytes.
  EXPECT_EQ(summary(model),
            "0.weight               [8, 64]  float32  512\n"
            "0.bias                 [8]      float32    8\n"
            "1.weight               [8]      float32    8\n"
            "1.bias                 [8]      float32    8\n"
            "1.running_mean         [8]      float32    8  buffer\n"
            "1.running_var          [8]      float32    8  buffer\n"
            "1.num_batches_tracked  []       int64      1  buffer\n"
            "3.weight               [3, 8]   float32   24\n"
            "560 parameters, 17 elements in buffers; 2312 bytes on cpu\n");
  EXPECT_EQ(parameter_count(model), 560);
}

struct Tied {
  Linear in{4, 4}, out{4, 4, {.bias = false, .dtype = float64}};
  Tied() {
    out.weight = in.weight;
    in.bias.requires_grad_(false);
  }
  Tensor operator()(const Tensor& x) { return out(in(x)); }
  void visit(Visitor& visitor) {
    visitor.module("in", in);
    visitor.module("out", out);
  }
};

TEST(Summary, CountsASharedTensorOnceAndNamesFrozenOnes) {
  Tied tied;
  EXPECT_EQ(summary(tied),
            "in.weight   [4, 4]  float32  16\n"
            "in.bias     [4]     float32   4  frozen\n"
            "out.weight  [4, 4]  float32  16  the same as in.weight\n"
            "20 parameters (4 frozen); 80 bytes on cpu\n");
}

TEST(Summary, OfNothingIsOneLine) {
  EXPECT_EQ(summary(Sequential()), "0 parameters; 0 bytes\n");
  EXPECT_EQ(summary([](const Tensor& x) { return x; }), "0 parameters; 0 bytes\n");
}

TEST(Summary, NamesTheDevice) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device";
  Linear layer(2, 1, {.device = Device::cuda});
  EXPECT_THAT(summary(layer), testing::HasSubstr("3 parameters; 12 bytes on cuda"));
}

}  // namespace
}  // namespace tally::nn
