// Bits of the reductions depend on the values alone: not on the layout, the batch, the threads or the device.
#include <tally/autograd/backward.h>
#include <tally/autograd/gtest.h>
#include <tally/core/parallel.h>
#include <tally/ops/view.h>

#include <tally/tests/ops/reduce_support.h>
#include <tally/tests/support/layouts.h>

namespace tally {
namespace {

using test::draw;
using test::Reduce;
using test::reduce_cases;
using test::ReduceCase;

TEST_P(Reduce, ARowHasTheSameBitsAloneInABatchTransposedAndSliced) {
  for (const std::int64_t n : {5, 100, 1500, 5000}) {
    const Tensor x = draw({3, n}, float32, device(), 4);
    for (const ReduceCase& op : reduce_cases()) {
      const Tensor batch = op.run(x, 1, {});
      for (const test::Layout& layout : test::layouts(x))
        EXPECT_THAT(op.run(layout.tensor, 1, {}), BitEqual(batch)) << op.name << " " << layout.name;
      for (std::int64_t row = 0; row < 3; ++row)
        EXPECT_THAT(op.run(select(x, 0, row), {}, {}), BitEqual(select(batch, 0, row))) << op.name << " " << n;
    }
  }
}

TEST_P(Reduce, TheListIsRowMajorWhateverLiesBetween) {
  // Dims 0 and 2 of [6, 5, 7] make the list that a dense copy of them makes.
  const Tensor x = draw({6, 5, 70}, float32, device(), 5);
  const Tensor lists = permute(x, {1, 0, 2}).contiguous();
  for (const ReduceCase& op : reduce_cases())
    EXPECT_THAT(op.run(x, {0, 2}, {}), BitEqual(op.run(reshape(lists, {5, 420}), 1, {}))) << op.name;
}

TEST(ReduceThreads, ChangeNoBit) {
  const int before = num_threads();
  for (const Shape& shape : {Shape{70'003}, Shape{300, 200}, Shape{3, 20'001}, Shape{20'001, 3}}) {
    const Tensor x = draw(shape, float32, cpu, 6).requires_grad_();
    for (const ReduceCase& op : reduce_cases())
      for (const std::int64_t dim : {0, x.dim() - 1}) {
        const auto run = [&](int threads) {
          set_num_threads(threads);
          const Tensor y = op.run(x, dim, {});
          std::vector<Tensor> both{y.detach()};
          if (op.gradient) both.push_back(grad({y}, {x}, {ones(y.shape(), {.dtype = y.dtype()})})[0]);
          return both;
        };
        const auto one = run(1);
        for (const int threads : {2, 8}) {
          const auto more = run(threads);
          for (std::size_t i = 0; i < one.size(); ++i)
            EXPECT_THAT(more[i], BitEqual(one[i])) << op.name << " " << threads;
        }
      }
  }
  set_num_threads(before);
}

TEST(ReduceDevices, CpuAndCudaGiveTheSameBits) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device to compare with";
  for (const DType dtype : {float32, float64, float16, bfloat16, int64, uint8})
    for (const Shape& shape : {Shape{5, 1000}, Shape{1031, 3}, Shape{2, 3, 130}}) {
      const Tensor here = draw(shape, dtype, cpu, 12), there = here.to(Device::cuda);
      for (const ReduceCase& op : reduce_cases()) {
        if (op.floats_only && !is_floating(dtype)) continue;
        const bool gradient = op.gradient && is_floating(dtype);
        for (const Dims& dims : {Dims{}, Dims{0}, Dims{-1}}) {
          const auto run = [&](const Tensor& x) {
            const Tensor leaf = gradient ? x.detach().requires_grad_() : x;
            std::vector<Tensor> both{op.run(leaf, dims, {})};
            if (gradient) both.push_back(grad({both[0]}, {leaf}, {draw(both[0].shape(), dtype, x.device(), 13)})[0]);
            return both;
          };
          const auto a = run(here), b = run(there);
          for (std::size_t i = 0; i < a.size(); ++i)
            EXPECT_THAT(b[i].detach(), BitEqual(a[i].detach()))
                << op.name << (i ? " gradient " : " value ") << name_of(dtype) << " " << to_string(shape);
        }
      }
    }
}

}  // namespace
}  // namespace tally
