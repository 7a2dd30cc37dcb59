// The promise of the order, for every op of the family and every function: a list's results and gradients are the same
// bits alone, in a batch of a thousand, in any layout, at any alignment, with any number of threads, on any device.
#include <gtest/gtest.h>

#include <tally/autograd/gtest.h>
#include <tally/core/parallel.h>
#include <tally/tests/ops/family.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>
#include <tally/tests/support/numbers.h>

namespace tally {
namespace {

using test::FamilyOp;
using test::promised;
using test::results_and_gradient;

/// Lists of length n as rows, near 1 so that products stay in range.
Tensor lists(std::int64_t count, std::int64_t n, DType dtype, Device device) {
  return test::numbers({count, n}, dtype, test::Range::around_one).to(device);
}

void expect_same(const FamilyOp& op, const Tensor& x, const std::vector<Tensor>& expected, const std::string& how) {
  const std::vector<Tensor> results = results_and_gradient(op, x);
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_THAT(results[i], BitEqual(expected[i]))
        << op.name << " " << how << ", result " << i << " of " << describe(x);
}

class SameBits : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(SameBits);

class SameBitsOf : public test::OnDeviceWith<FamilyOp> {
 protected:
  const FamilyOp& op() const { return which(); }
};
TALLY_TEST_ON_DEVICES_WITH(SameBitsOf, ::testing::ValuesIn(promised()));

/// A sort: an emulated device takes long over it.
bool ranks(const FamilyOp& op) {
  for (const char* name : {"median", "median_with_index", "quantile", "topk", "sort", "argsort"})
    if (op.name == name) return true;
  return false;
}

constexpr DType kFloats[] = {float32, float64, float16, bfloat16};

TEST_P(SameBitsOf, AloneAndInABatchOfAThousand) {
  for (const DType dtype : kFloats) {
    if (emulated() && dtype != float32) continue;
    const Tensor x = lists(1000, 37, dtype, device());
    const Tensor batch = op().list_by_list || (emulated() && ranks(op())) ? narrow(x, 0, 990, 10) : x;
    const std::vector<Tensor> all = results_and_gradient(op(), batch);
    for (const std::int64_t row : {std::int64_t{0}, batch.size(0) / 2, batch.size(0) - 1}) {
      std::vector<Tensor> expected;
      for (const Tensor& y : all) expected.push_back(select(y, 0, row));
      expect_same(op(), select(batch, 0, row), expected, "alone");
      expect_same(op(), select(batch, 0, row).clone(), expected, "copied");
    }
  }
}

TEST_P(SameBitsOf, InEveryLayoutAndAtEveryAlignment) {
  for (const DType dtype : kFloats)
    for (const std::int64_t n : {41, 1500}) {
      const bool thorough = dtype == float32 && n < 1000;
      if (!op().takes(n) || (emulated() && n > 1000 && (dtype != float32 || ranks(op())))) continue;
      const Tensor x = lists(3, n, dtype, device());
      const std::vector<Tensor> expected = results_and_gradient(op(), x);
      for (const test::Layout& layout : test::layouts(x)) expect_same(op(), layout.tensor, expected, layout.name);
      for (std::int64_t offset = 1; offset < 16; offset += emulated() && !thorough ? 7 : 1)
        expect_same(op(), test::placed(x, contiguous_strides(x.shape()), offset, x.numel() + offset), expected,
                    "from element " + std::to_string(offset));
    }
}

TEST_P(SameBitsOf, WithStridesOfZero) {
  for (const DType dtype : kFloats)
    for (const std::int64_t n : {7, 130}) {
      const Tensor row = select(lists(1, n, dtype, device()), 0, 0), one = narrow(row, 0, n - 1, 1);
      for (const Tensor& x : {test::repeated(row, 3), expand(reshape(one, {1, 1}), {3, n})})
        expect_same(op(), x, results_and_gradient(op(), x.clone()), "with a stride of zero");
    }
}

TEST_P(SameBits, ZeroDimsAreAListOfOne) {
  for (const DType dtype : kFloats) {
    const Tensor x = lists(1, 1, dtype, device());
    for (const FamilyOp& op : promised()) {
      if (op.list_by_list || !op.takes(1)) continue;  // dot, trace and dist want a dim, topk two elements
      std::vector<Tensor> expected;
      for (const Tensor& y : results_and_gradient(op, reshape(x, {1}))) expected.push_back(reshape(y, {}));
      expect_same(op, reshape(x, {}), expected, "of no dim");
    }
  }
}

TEST(SameBitsThreads, OneTwoAndEight) {
  const int before = num_threads();
  for (const Shape& shape : {Shape{1, 70'003}, Shape{2'000, 41}}) {
    const Tensor x = lists(shape[0], shape[1], float32, cpu);
    for (const FamilyOp& op : promised()) {
      if (!op.takes(shape[1])) continue;
      const Tensor batch = op.list_by_list ? narrow(x, 0, 0, 1) : x;
      set_num_threads(1);
      const std::vector<Tensor> expected = results_and_gradient(op, batch);
      for (const int threads : {2, 8}) {
        set_num_threads(threads);
        expect_same(op, batch, expected, "with " + std::to_string(threads) + " threads");
      }
    }
  }
  set_num_threads(before);
}

class SameBitsDevices : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device to compare with";
  }
};
INSTANTIATE_TEST_SUITE_P(, SameBitsDevices, ::testing::ValuesIn(kFloats), test::CaseName());

TEST_P(SameBitsDevices, CpuAndCuda) {
  for (const std::int64_t n : {1, 129, 1500})
    for (const test::Range range : {test::Range::around_one, test::Range::both_signs}) {
      const Tensor here = test::numbers({2, n}, GetParam(), range);
      for (const FamilyOp& op : promised()) {
        if (!op.takes(n)) continue;
        const auto a = results_and_gradient(op, here), b = results_and_gradient(op, here.to(Device::cuda));
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
          EXPECT_THAT(b[i].to(cpu), BitEqual(a[i])) << op.name << " of " << describe(here) << ", result " << i;
      }
    }
}

}  // namespace
}  // namespace tally
