#include <tally/core/tensor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include <tally/autograd/no_grad.h>
#include <tally/core/dims.h>
#include <tally/core/error.h>
#include <tally/core/print.h>
#include <tally/core/random.h>
#include <tally/ops/reduce.h>
#include <tally/tests/support/devices.h>
#include <tally/tests/support/layouts.h>

// A sanitizer's allocator refuses as the real one does, so that running out of memory can be tested under it.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace tally {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x.grad() = g would change a handle that nobody has.
static_assert(std::is_assignable_v<Tensor&, Tensor> && std::is_assignable_v<Tensor&, const Tensor&>);
static_assert(!std::is_assignable_v<Tensor, Tensor> && !std::is_assignable_v<Tensor, const Tensor&>);
static_assert(std::is_nothrow_move_constructible_v<Tensor> && std::is_nothrow_move_assignable_v<Tensor>);

template <class Error> std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing of this type was thrown";
  return "";
}

class Tensors : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(Tensors);

constexpr DType kAll[] = {float32, float64, float16, bfloat16, int64, int32, uint8, boolean};

TEST_P(Tensors, FactoriesFill) {
  for (DType dtype : kAll) {
    SCOPED_TRACE(name_of(dtype));
    const Tensor z = zeros({2, 3}, on(dtype)), o = ones({2, 3}, on(dtype));
    EXPECT_EQ(z.dtype(), dtype);
    EXPECT_EQ(z.device(), device());
    EXPECT_EQ(z.shape(), (Shape{2, 3}));
    EXPECT_EQ(z.strides(), (Shape{3, 1}));
    EXPECT_THAT(z.to_vector<int>(), Each(0));
    EXPECT_THAT(o.to_vector<int>(), Each(1));
  }
  EXPECT_EQ(zeros({2}).dtype(), float32);
  EXPECT_THAT(full({2}, -2.5, on()).to_vector<double>(), Each(-2.5));
  EXPECT_EQ(full({}, INT64_MAX, on(int64)).item<std::int64_t>(), INT64_MAX) << "an integer keeps all its bits";
  EXPECT_THAT(eye(2, on()).to_vector<int>(), ElementsAre(1, 0, 0, 1));
}

TEST_P(Tensors, FactoriesCount) {
  EXPECT_THAT(arange(3).to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_EQ(arange(3).dtype(), int64);
  EXPECT_THAT(arange(5, 0, -2, on(int32)).to_vector<int>(), ElementsAre(5, 3, 1));
  EXPECT_THAT(arange(0, 1, 0.25, on()).to_vector<double>(), ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_EQ(arange(3, 3, 1, on()).numel(), 0);
  EXPECT_THROW(arange(0, 1, 0, on()), ValueError);
  EXPECT_THAT(linspace(0, 1, 5, on()).to_vector<double>(), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  const auto ends = linspace(0.1, 0.7, 7, on(float64)).to_vector<double>();
  EXPECT_EQ(ends.front(), 0.1);
  EXPECT_EQ(ends.back(), 0.7);
  EXPECT_THAT(linspace(3, 9, 1, on()).to_vector<double>(), ElementsAre(3));
  EXPECT_EQ(linspace(3, 9, 0, on()).numel(), 0);
}

TEST_P(Tensors, RangesAtTheEndsOfTheIntegers) {
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min(),
                 kHighest = std::numeric_limits<std::int64_t>::max();
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(arange(kHighest - 3, kHighest, 2, on(int64)).to_vector<std::int64_t>(),
            (Integers{kHighest - 3, kHighest - 1}));
  EXPECT_EQ(arange(kLowest + 3, kLowest, -2, on(int64)).to_vector<std::int64_t>(),
            (Integers{kLowest + 3, kLowest + 1}));
  EXPECT_EQ(arange((std::int64_t{1} << 53), (std::int64_t{1} << 53) + 3, 1, on(int64)).numel(), 3);
  EXPECT_EQ(arange(kHighest, kLowest, 1, on(int64)).numel(), 0);
  EXPECT_THROW(arange(kLowest, kHighest, 1, on(int64)), ShapeError);
  EXPECT_THROW(arange(0, std::numeric_limits<double>::infinity(), 1, on()), ShapeError);
  EXPECT_THROW(eye(std::int64_t{1} << 32, on()), ShapeError);
  EXPECT_EQ(zeros({0, std::int64_t{1} << 40, std::int64_t{1} << 40}, on()).numel(), 0);
  EXPECT_THROW(linspace(0, 1, std::int64_t{1} << 60, on()), OutOfMemoryError);
  EXPECT_EQ(randint(kLowest, kHighest, {3}, on(int64)).numel(), 3);
}

TEST_P(Tensors, FactoriesCopyValues) {
  EXPECT_EQ(tensor({1.0, 2.0}).dtype(), float32);
  EXPECT_EQ(tensor(std::vector<double>{1, 2}).dtype(), float64);
  EXPECT_EQ(tensor(std::vector<std::int64_t>{1, 2}).dtype(), int64);
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}, on()).shape(), (Shape{2, 3}));
  EXPECT_THAT(tensor({{1, 2, 3}, {4, 5, 6}}, on()).to_vector<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  std::vector<float> values = {1, 2, 3, 4};
  const Tensor x = tensor(values, {2, 2}, device());
  values[0] = 9;
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(message_of<ShapeError>([&] { tensor(values, {3}); }), HasSubstr("4 values do not fill [3]"));
  EXPECT_THAT(message_of<ShapeError>([&] { tensor({{1, 2}, {3}}); }), HasSubstr("rows of 2 and 1"));
}

TEST_P(Tensors, RandomOnesStayInRange) {
  for (double x : rand({1000}, on(float64)).to_vector<double>()) EXPECT_TRUE(x >= 0 && x < 1) << x;
  const auto draws = randint(-2, 3, {1000}, on(int64)).to_vector<int>();
  for (int x = -2; x < 3; ++x) EXPECT_GT(std::count(draws.begin(), draws.end(), x), 100) << x;
  EXPECT_EQ(*std::min_element(draws.begin(), draws.end()), -2);
  EXPECT_EQ(*std::max_element(draws.begin(), draws.end()), 2);
  const auto normal = randn({4000}, on(float64)).to_vector<double>();
  // Mean of 4000 standard normals: standard deviation 0.016; six of them.
  EXPECT_NEAR(std::accumulate(normal.begin(), normal.end(), 0.0) / 4000, 0, 0.095);
  auto order = randperm(50, device()).to_vector<int>();
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_THROW(randint(3, 3, {1}), ValueError);
  EXPECT_THROW(rand({1}, on(int64)), DTypeError);
}

TEST_P(Tensors, ConvertsDtypes) {
  const Tensor x = tensor({-1.75, 0, 2.5, 300}, on(float64));
  EXPECT_THAT(x.to(int32).to_vector<int>(), ElementsAre(-1, 0, 2, 300)) << "to integers truncates";
  EXPECT_THAT(x.to(uint8).to_vector<int>(), ElementsAre(255, 0, 2, 44)) << "and wraps";
  EXPECT_THAT(x.to(boolean).to_vector<int>(), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(x.to(float16).to_vector<double>(), ElementsAre(-1.75, 0, 2.5, 300));
  EXPECT_THAT(x.to(bfloat16).to_vector<double>(), ElementsAre(-1.75, 0, 2.5, 300));
  // 1 + 2^-11 + 2^-40 is just above half way between two float16: through float32 it would become a tie and round down.
  EXPECT_EQ(full({}, 1 + 0x1p-11 + 0x1p-40, on(float64)).to(float16).item<double>(), 1 + 0x1p-10);
  EXPECT_EQ(full({}, 1e300, on(float64)).to(float32).item<double>(), INFINITY);
  for (DType dtype : {float64, float16, bfloat16})
    EXPECT_TRUE(std::isnan(full({}, NAN, on()).to(dtype).item<double>())) << dtype;
  for (DType dtype : {float32, float64, float16, bfloat16})
    EXPECT_TRUE(std::signbit(full({}, -0.0, on(float64)).to(dtype).item<double>())) << dtype;
  EXPECT_TRUE(x.to(float64).is_same(x)) << "nothing changes, nothing is copied";
}

TEST_P(Tensors, ReadsEveryLayoutInRowMajorOrder) {
  const Tensor x = arange(0, 24, 1, {.dtype = float32}).to(device());
  const Tensor cube(x.storage(), 0, {2, 3, 4}, {12, 4, 1}, float32);
  for (const auto& [name, y] : test::layouts(cube)) {
    SCOPED_TRACE(name);
    EXPECT_EQ(y.to_vector<int>(), x.to_vector<int>());
    EXPECT_TRUE(y.contiguous().is_contiguous());
    EXPECT_EQ(y.contiguous().to_vector<int>(), x.to_vector<int>());
    EXPECT_EQ(y.to(int64).to_vector<int>(), x.to_vector<int>());
    EXPECT_EQ(y.to(cpu).to_vector<int>(), x.to_vector<int>());
  }
  EXPECT_TRUE(cube.contiguous().is_same(cube));
  EXPECT_FALSE(test::transposed(cube).tensor.is_contiguous());
  EXPECT_TRUE(Tensor(x.storage(), 0, {1, 24}, {7, 1}, float32).is_contiguous()) << "the stride of a size 1 is not used";
}

TEST_P(Tensors, ItemNeedsOneElement) {
  EXPECT_EQ(full({1, 1}, 3, on()).item<int>(), 3);
  EXPECT_EQ(full({}, true, on(boolean)).item<bool>(), true);
  const int line = __LINE__ + 1;
  const std::string text = message_of<ShapeError>([&] { zeros({2}, on()).item<float>(); });
  EXPECT_THAT(text, HasSubstr("item: float32 [2] on " + std::string(name_of(device()))));
  EXPECT_THAT(text, HasSubstr("tensor_test.cpp:" + std::to_string(line)));
}

TEST_P(Tensors, CopiesShareNothing) {
  const Tensor x = ones({3}, on()), view = x.detach(), copy = x.clone();
  x.fill_(2);
  EXPECT_THAT(view.to_vector<int>(), Each(2));
  EXPECT_THAT(copy.to_vector<int>(), Each(1));
  EXPECT_EQ(x.storage()->version(), 1u);
  EXPECT_EQ(view.storage()->version(), 1u) << "a view has the version of its tensor";
  EXPECT_EQ(copy.storage()->version(), 0u);
  x.zero_();
  EXPECT_EQ(view.storage()->version(), 2u);
  EXPECT_THAT(view.to_vector<int>(), Each(0));
}

TEST_P(Tensors, CopyInPlaceConvertsAndChecks) {
  const Tensor x = zeros({2, 2}, on());
  x.copy_(tensor({{1, 2}, {3, 4}}, {.dtype = int64}));  // from the host, another dtype
  EXPECT_THAT(x.to_vector<int>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(x.copy_(zeros({4}, on())), ShapeError);
}

TEST_P(Tensors, InPlaceIsRefusedWhereAGraphWouldGoStale) {
  const Tensor leaf = ones({2}, {.device = device(), .requires_grad = true});
  EXPECT_THROW(leaf.fill_(0), AutogradError);
  EXPECT_THROW(leaf.clone().fill_(0), AutogradError);
  no_grad([&] { leaf.fill_(3); });
  EXPECT_THAT(leaf.to_vector<int>(), Each(3));
}

TEST_P(Tensors, OnlyFloatsAndLeavesAskForGradients) {
  EXPECT_THAT(message_of<DTypeError>([&] { zeros({1}, on(int64)).requires_grad_(); }), HasSubstr(".to(float32)"));
  EXPECT_THROW(zeros({1}, {.dtype = boolean, .requires_grad = true}), DTypeError);
  const Tensor x = zeros({1}, on()).requires_grad_();
  EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  EXPECT_THROW(x.clone().requires_grad_(false), AutogradError);
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_THROW(x.set_grad(zeros({2}, on())), AutogradError);
}

TEST_P(Tensors, NoneIsItsOwnGradient) {
  const Tensor x = zeros({1}, on()).requires_grad_(), y = ones({1}, on()), z = ones({1}, on());
  EXPECT_THROW(x.set_grad(x), AutogradError);
  y.set_grad(x);
  z.set_grad(y);
  EXPECT_THAT(message_of<AutogradError>([&] { x.set_grad(z); }), HasSubstr("set_grad: float32 [1] on"));
  EXPECT_FALSE(x.grad().defined());
  x.set_grad(y.detach());  // the same memory, but no owner of x
  EXPECT_EQ(x.grad().item<float>(), 1);
}

TEST_P(Tensors, SizesAndDataAreChecked) {
  const Tensor x = zeros({2, 3}, on());
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_THAT(message_of<IndexError>([&] { x.size(2); }),
              HasSubstr("dim 2 is out of range for a 2-d tensor (valid: -2 to 1)"));
  EXPECT_THROW(zeros({}, on()).size(0), IndexError);
  EXPECT_THAT(message_of<DTypeError>([&] { x.data<double>(); }),
              HasSubstr("the tensor is float32, not float64; convert it"));
  // In the name of what was called.
  EXPECT_THAT(message_of<ShapeError>([&] { zeros({2, -1}, on()); }), HasSubstr("zeros: [2, -1] has a negative size"));
  EXPECT_THAT(message_of<ShapeError>([&] { empty({-1}, on()); }), HasSubstr("empty: [-1] has a negative size"));
  EXPECT_THAT(message_of<ShapeError>([&] { randn({-1}, on()); }), HasSubstr("randn: [-1] has a negative size"));
  EXPECT_THAT(message_of<ShapeError>([&] { eye(-1, on()); }), HasSubstr("eye: [-1, -1] has a negative size"));
  EXPECT_THAT(message_of<ShapeError>([&] { linspace(0, 1, -1, on()); }), HasSubstr("linspace: [-1] has a negative"));
  EXPECT_THROW(zeros({INT64_MAX, 2}, on()), ShapeError);
  EXPECT_THROW(zeros({INT64_MAX}, on()), ShapeError) << "more bytes than 64 bits count";
  EXPECT_EQ(zeros({0, INT64_MAX, 2}, on()).numel(), 0);
}

TEST_P(Tensors, OutOfMemoryIsAnErrorAndNotTheEnd) {
  EXPECT_THROW(empty({std::int64_t{1} << 58}, on(uint8)), OutOfMemoryError);
  EXPECT_EQ(ones({1}, on()).item<int>(), 1);
}

TEST(Tensor, AnUndefinedOneSaysSo) {
  const Tensor none;
  EXPECT_FALSE(none.defined());
  EXPECT_THAT(message_of<ShapeError>([&] { none.shape(); }), HasSubstr("undefined"));
  EXPECT_THROW(none.to_vector<float>(), ShapeError);
  EXPECT_EQ(describe(none), "an undefined tensor");
}

TEST(Tensor, IsAlignedFor64Bytes) {
  for (std::int64_t size : {1, 3, 17, 1000})
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(empty({size}, {.dtype = uint8}).raw()) % 64, 0u);
}

TEST(Tensor, MemoryComesBack) {
  const std::int64_t before = live_cpu_bytes();
  {
    const Tensor x = zeros({1000});
    EXPECT_EQ(live_cpu_bytes(), before + 4000);
  }
  EXPECT_EQ(live_cpu_bytes(), before);
}

TEST(Tensor, BorrowedMemoryGoesBackToItsOwner) {
  std::vector<float> values = {1, 2, 3};
  bool released = false;
  {
    const Tensor x(Storage::borrow(values.data(), 12, cpu, [&] { released = true; }), 0, {3}, {1}, float32);
    x.fill_(7);
    EXPECT_EQ(x.raw(), values.data());
  }
  EXPECT_TRUE(released);
  EXPECT_THAT(values, Each(7));
}

TEST(Tensor, WithoutCudaSaysHow) {
  if (kHasCuda) GTEST_SKIP() << "this build has CUDA";
  EXPECT_THAT(message_of<DeviceError>([] { zeros({1}, {.device = Device::cuda}); }),
              HasSubstr("device: this build of Tally has no CUDA; use cpu"));
  EXPECT_THROW(zeros({1}).to(Device::cuda), DeviceError);
}

TEST(DeviceCopy, ACopyThereAndBackKeepsBits) {
  if (!is_available(Device::cuda)) GTEST_SKIP() << "no CUDA device";
  const Tensor x = tensor({-0.0, 1e-45, INFINITY, 0.1});
  const Tensor there = x.to(Device::cuda);
  EXPECT_EQ(there.device(), Device::cuda);
  EXPECT_EQ(there.to(cpu).to_vector<float>(), x.to_vector<float>());
  EXPECT_TRUE(there.to(Device::cuda).is_same(there));
  const Tensor turned = test::transposed(Tensor(x.storage(), 0, {2, 2}, {2, 1}, float32)).tensor;
  EXPECT_EQ(turned.to(Device::cuda).to_vector<float>(), x.to_vector<float>());
}

TEST(Shapes, HoldEightDims) {
  const std::vector<std::int64_t> eight(8, 1), nine(9, 1);
  EXPECT_EQ(zeros(Shape(eight)).dim(), 8);
  EXPECT_THAT(message_of<ShapeError>([&] { zeros(Shape(nine)); }), HasSubstr("at most 8 dims, not 9"));
  Shape shape(eight);
  EXPECT_THROW(shape.push_back(1), ShapeError);
  EXPECT_EQ(shape.size(), 8) << "nothing half done";
}

TEST(Shapes, Broadcast) {
  const auto both = [](const Shape& a, const Shape& b) { return broadcast_shapes("add", a, b, {}); };
  EXPECT_EQ(both({2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(both({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(both({1, 0}, {3, 1}), (Shape{3, 0}));
  EXPECT_THAT(message_of<ShapeError>([&] { both({2}, {3}); }), HasSubstr("add: shapes [2] and [3] do not broadcast"));
  EXPECT_THROW(both({0}, {2}), ShapeError);
}

TEST(DTypes, Promote) {
  EXPECT_EQ(promote(float32, float64), float64);
  EXPECT_EQ(promote(float16, bfloat16), float32);
  EXPECT_EQ(promote(int64, float16), float16);
  EXPECT_EQ(promote(int32, int64), int64);
  EXPECT_EQ(promote(uint8, boolean), uint8);
  for (DType a : kAll)
    for (DType b : kAll) EXPECT_EQ(promote(a, b), promote(b, a)) << a << " and " << b;
}

// What must not compile, asked by constraints. `Call` is a template so that a failure is no error.
template <class... Arguments>
concept CanSum = requires(const Tensor& x, Arguments... arguments) {
  tally::sum(x, arguments...);
};
template <class... Arguments>
concept CanVar = requires(const Tensor& x, Arguments... arguments) {
  tally::var(x, arguments...);
};
template <class... Arguments>
concept MakesDims = requires(Arguments... arguments) {
  Dims{arguments...};
};

static_assert(CanSum<> && CanSum<int> && CanSum<std::int64_t> && CanSum<Dims, KeepDim> && CanSum<int, bool>);
static_assert(!CanSum<bool>, "sum(x, true)");
static_assert(!CanSum<int, int>, "sum(x, 0, 1)");
static_assert(!CanSum<double>);
static_assert(CanVar<int, Correction> && CanVar<int, Correction, KeepDim> && !CanVar<int, int>, "var(x, 0, 1)");
static_assert(!CanVar<int, bool> && !CanVar<int, double>);
static_assert(MakesDims<int, int> && !MakesDims<bool> && !MakesDims<int, bool>);
static_assert(!std::is_convertible_v<int, KeepDim> && !std::is_convertible_v<const char*, KeepDim>);
static_assert(!std::is_convertible_v<int, Correction> && std::is_constructible_v<Correction, int>);
static_assert(!std::is_constructible_v<Correction, bool>);

TEST(Dims, AreCheckedByTheOp) {
  EXPECT_THAT(message_of<IndexError>([] { DimSet("sum", {0, 2}, 2, {}); }), HasSubstr("sum: dim 2 is out of range"));
  EXPECT_THAT(message_of<ShapeError>([] { DimSet("sum", {0, -2}, 2, {}); }), HasSubstr("dim -2 is listed twice"));
  const DimSet all("sum", {}, 3, {}), last("sum", -1, 3, {});
  for (int d = 0; d < 3; ++d) {
    EXPECT_TRUE(all.contains(d));
    EXPECT_EQ(last.contains(d), d == 2);
  }
  EXPECT_EQ(normalize_dim("sum", -1, 0, {}), 0) << "a 0-d tensor takes 0 and -1";
  EXPECT_THROW(normalize_dim("sum", 1, 0, {}), IndexError);
}

TEST(Errors, AreCaughtAsTheStandardFamilies) {
  EXPECT_THROW(zeros({2}).item<int>(), std::invalid_argument);
  EXPECT_THROW(zeros({2}).size(3), std::out_of_range);
  EXPECT_THROW(zeros({2}).data<int>(), std::invalid_argument);
  try {
    zeros({2}).size(3);
  } catch (const IndexError& error) {
    EXPECT_EQ(error.op(), "size");
    EXPECT_EQ(error.where().line, __LINE__ - 3);
  }
}

}  // namespace
}  // namespace tally
