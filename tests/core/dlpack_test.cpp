#include <tally/core/dlpack.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <tally/autograd/gtest.h>
#include <tally/core/cuda/device.h>
#include <tally/core/dlpack_abi.h>
#include <tally/core/error.h>
#include <tally/ops/operators.h>
#include <tally/ops/reduce.h>
#include <tally/ops/view.h>
#include <tally/tests/support/devices.h>

namespace tally {
namespace {

using namespace dlpack;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor import(ManagedVersioned* source, DLPackImport options = {}) {
  return from_dlpack(reinterpret_cast<DLManagedTensorVersioned*>(source), options);
}
Tensor import(Managed* source, DLPackImport options = {}) {
  return from_dlpack(reinterpret_cast<DLManagedTensor*>(source), options);
}
ManagedVersioned* exported(const Tensor& x) { return reinterpret_cast<ManagedVersioned*>(to_dlpack(x)); }

/// Another library's array of the floats 0, 1, 2, ...: counts how often it is given back, and forgets its values then.
template <class Struct> class Foreign {
 public:
  Foreign(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::size_t count = 6, Device on = cpu)
      : shape_(std::move(shape)), strides_(std::move(strides)), values_(count) {
    for (std::size_t i = 0; i < count; ++i) values_[i] = static_cast<float>(i);
    memory_ = tensor(values_, {static_cast<std::int64_t>(count)}, on);
    if constexpr (std::is_same_v<Struct, ManagedVersioned>) managed.version = {1, 0};
    managed.tensor = {memory_.raw(),
                      {on == cpu ? kCpu : kCudaDevice, 0},
                      static_cast<std::int32_t>(shape_.size()),
                      {kFloat, 32, 1},
                      shape_.data(),
                      strides_.empty() ? nullptr : strides_.data(),
                      0};
    managed.context = this;
    managed.deleter = [](Struct* self) {
      auto& foreign = *static_cast<Foreign*>(self->context);
      ++foreign.deleted;
      foreign.memory_.fill_(-1);
    };
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  Struct managed{};
  int deleted = 0;

 private:
  std::vector<std::int64_t> shape_, strides_;
  std::vector<float> values_;
  Tensor memory_;
};
using Versioned = Foreign<ManagedVersioned>;
using Unversioned = Foreign<Managed>;

class DLPack : public test::OnDevice {};
TALLY_TEST_ON_DEVICES(DLPack);

TEST_P(DLPack, B72_NullStridesAreRowMajor) {
  Versioned versioned({2, 3}, {}, 6, device());
  Unversioned unversioned({2, 3}, {}, 6, device());
  EXPECT_THAT(import(&versioned.managed), BitEqual(tensor({{0, 1, 2}, {3, 4, 5}})));
  EXPECT_THAT(import(&unversioned.managed), BitEqual(tensor({{0, 1, 2}, {3, 4, 5}})));
}

TEST_P(DLPack, B72_ByteOffsetIsHonoured) {
  Versioned dense({2, 3}, {}, 8, device()), columns({2, 3}, {1, 2}, 8, device());
  dense.managed.tensor.byte_offset = columns.managed.tensor.byte_offset = 2 * sizeof(float);
  EXPECT_THAT(import(&dense.managed), BitEqual(tensor({{2, 3, 4}, {5, 6, 7}})));
  const Tensor x = import(&columns.managed);
  EXPECT_THAT(x, BitEqual(tensor({{2, 4, 6}, {3, 5, 7}})));
  EXPECT_THAT(sum(x, 0), BitEqual(tensor({5.0, 9.0, 13.0})));
}

TEST_P(DLPack, B72_ExportAlwaysGivesStrides) {
  const Tensor x = arange(0, 12, 1, on());
  for (const Tensor& view : {reshape(x, {3, 4}), transpose(reshape(x, {3, 4}), 0, 1), slice(x, 0, 2, 12, 3),
                             expand(slice(x, 0, 1, 2), {5}), empty({0, 3}, on()), sum(x)}) {
    ManagedVersioned* lent = exported(view);
    const View& seen = lent->tensor;
    ASSERT_EQ(seen.ndim, view.dim());
    ASSERT_NE(seen.strides, nullptr);
    for (int d = 0; d < view.dim(); ++d) {
      EXPECT_EQ(seen.shape[d], view.shape()[d]);
      EXPECT_EQ(seen.strides[d], view.strides()[d]);
    }
    EXPECT_EQ(static_cast<std::byte*>(seen.data) + seen.byte_offset, view.raw());
    EXPECT_EQ(seen.device.type, device() == cpu ? kCpu : kCudaDevice);
    EXPECT_EQ(lent->version.major, 1u);
    EXPECT_EQ(lent->flags, 0u);
    EXPECT_THAT(import(lent), BitEqual(view));  // there and back: the same values, and the memory itself
  }
}

TEST_P(DLPack, MemoryIsSharedBothWays) {
  const Tensor x = zeros({4}, on());
  const Tensor y = import(exported(x));
  EXPECT_EQ(y.raw(), x.raw());
  x.fill_(3);
  EXPECT_THAT(y, BitEqual(tensor({3, 3, 3, 3})));
  y.fill_(5);
  EXPECT_THAT(x, BitEqual(tensor({5, 5, 5, 5})));
  EXPECT_TRUE(y.is_leaf());
  EXPECT_FALSE(y.requires_grad());
}

TEST_P(DLPack, EveryDtypeThereAndBack) {
  const std::pair<DType, Type> known[] = {{float32, {2, 32, 1}},  {float64, {2, 64, 1}}, {float16, {2, 16, 1}},
                                          {bfloat16, {4, 16, 1}}, {int64, {0, 64, 1}},   {int32, {0, 32, 1}},
                                          {uint8, {1, 8, 1}},     {boolean, {6, 8, 1}}};
  for (const auto& [dtype, type] : known) {
    const Tensor x = tensor({0, 1, 1}).to(dtype).to(device());
    ManagedVersioned* lent = exported(x);
    EXPECT_EQ(lent->tensor.dtype.code, type.code);
    EXPECT_EQ(lent->tensor.dtype.bits, type.bits);
    EXPECT_EQ(lent->tensor.dtype.lanes, 1);
    EXPECT_THAT(import(lent), BitEqual(x));
    EXPECT_THAT(from_dlpack(to_dlpack_unversioned(x)), BitEqual(x));
  }
}

std::size_t live_device_bytes() {
  if constexpr (kHasCuda) return gpu::memory_stats().live_bytes;
  return 0;
}

TEST_P(DLPack, B74_TenThousandUnusedExportsAreGivenBack) {
  const Tensor x = ones({1000}, on());
  const std::int64_t host = live_cpu_bytes();
  const std::size_t held = live_device_bytes();
  const long owners = x.storage().use_count();
  for (int i = 0; i < 10000; ++i) {
    ManagedVersioned* lent = exported(x);
    EXPECT_EQ(x.storage().use_count(), owners + 1);
    lent->deleter(lent);
  }
  EXPECT_EQ(x.storage().use_count(), owners);
  EXPECT_EQ(live_cpu_bytes(), host);
  EXPECT_EQ(live_device_bytes(), held);
}

TEST_P(DLPack, B74_TheSourceMayGoFirst) {
  const std::weak_ptr<Storage> memory = [&] {
    Tensor x = arange(0, 3, 1, on());
    const std::weak_ptr<Storage> memory = x.storage();
    Tensor y = import(exported(x));
    x = {};
    EXPECT_FALSE(memory.expired());
    EXPECT_THAT(y * 2, BitEqual(tensor({0, 2, 4})));
    return memory;
  }();
  EXPECT_TRUE(memory.expired());
}

TEST_P(DLPack, B74_TheLastViewGivesBackOnce) {
  Versioned source({2, 3}, {}, 6, device());
  Tensor row;
  {
    const Tensor x = import(&source.managed), y = x, z = x.detach();
    row = select(x, 0, 1);
  }
  EXPECT_EQ(source.deleted, 0);
  EXPECT_THAT(row, BitEqual(tensor({3, 4, 5})));
  Tensor result = row + 1;
  row = {};
  EXPECT_EQ(source.deleted, 1);
  EXPECT_THAT(result, BitEqual(tensor({4, 5, 6})));  // its kernel had read the memory before that was given back
}

TEST(DLPackOnCpu, B74_AnotherThreadMayBeTheLast) {
  Versioned source({2, 3}, {});
  std::thread([x = import(&source.managed)] { EXPECT_EQ(sum(x).item<float>(), 15); }).join();
  EXPECT_EQ(source.deleted, 1);
}

TEST(DLPackOnCpu, WithoutADeleterNothingIsGivenBack) {
  Versioned source({2, 3}, {});
  source.managed.deleter = nullptr;
  EXPECT_EQ(sum(import(&source.managed)).item<float>(), 15);
  EXPECT_EQ(source.deleted, 0);
}

/// What from_dlpack says to a changed struct. Whatever it says, the struct has been given back once.
template <class Error, class Change> std::string refusal(Change change) {
  Versioned source({2, 3}, {3, 1});
  change(source.managed);
  std::string message = "nothing was thrown";
  try {
    import(&source.managed);
  } catch (const Error& error) {
    EXPECT_EQ(error.op(), "from_dlpack");
    message = error.what();
  }
  EXPECT_EQ(source.deleted, 1) << message;
  return message;
}

TEST(DLPackOnCpu, B74_AnImportThatThrowsGivesBackOnce) {
  using M = ManagedVersioned&;
  const auto dtype = [](Type type) { return refusal<DTypeError>([=](M m) { m.tensor.dtype = type; }); };
  EXPECT_THAT(dtype({kUInt, 16, 1}), HasSubstr("uint16 is none of"));
  EXPECT_THAT(dtype({kInt, 8, 1}), HasSubstr("int8 is none of"));
  EXPECT_THAT(dtype({kComplex, 64, 1}), HasSubstr("complex64"));
  EXPECT_THAT(dtype({kFloat, 32, 4}), HasSubstr("float32 in vectors of 4"));
  EXPECT_THAT(dtype({kFloat, 32, 0}), HasSubstr("float32 in vectors of 0"));
  EXPECT_THAT(dtype({kBool, 1, 1}), HasSubstr("bool1"));
  EXPECT_THAT(dtype({99, 8, 1}), HasSubstr("type 99 of 8"));

  const auto device = [](DeviceId id) { return refusal<DeviceError>([=](M m) { m.tensor.device = id; }); };
  EXPECT_THAT(device({10, 0}), HasSubstr("device 10:0"));
  EXPECT_THAT(device({kCudaDevice, 1}), HasSubstr("device 2:1"));
  if (!is_available(cuda)) {
    EXPECT_THAT(device({kCudaDevice, 0}), HasSubstr("not available"));
  }

  static std::array<std::int64_t, 9> sizes;
  const auto shape = [](std::int32_t ndim, std::array<std::int64_t, 9> of) {
    sizes = of;
    return refusal<ShapeError>([=](M m) {
      m.tensor.ndim = ndim;
      m.tensor.shape = sizes.data();
      m.tensor.strides = nullptr;
    });
  };
  EXPECT_THAT(shape(9, {1, 1, 1, 1, 1, 1, 1, 1, 1}), HasSubstr("9 dims; from 0 to 8"));
  EXPECT_THAT(shape(-1, {}), HasSubstr("-1 dims"));
  EXPECT_THAT(shape(2, {2, -3}), HasSubstr("[2, -3] has a negative size"));
  EXPECT_THAT(shape(2, {std::int64_t{1} << 40, std::int64_t{1} << 40}), HasSubstr("63 bits"));
  EXPECT_THAT(shape(1, {std::int64_t{1} << 61}), HasSubstr("63 bits"));
  static std::array<std::int64_t, 2> steps = {std::int64_t{1} << 62, std::int64_t{1} << 61};
  EXPECT_THAT(refusal<ShapeError>([](M m) { m.tensor.strides = steps.data(); }), HasSubstr("63 bits"));

  EXPECT_THAT(refusal<ValueError>([](M m) { m.version.major = 2; }), HasSubstr("DLPack 2.0; versions 1.x"));
  EXPECT_THAT(refusal<ValueError>([](M m) { m.tensor.data = nullptr; }), HasSubstr("the data is null"));
  EXPECT_THAT(refusal<ValueError>([](M m) { m.tensor.shape = nullptr; }), HasSubstr("the shape is null"));
  EXPECT_THAT(refusal<ValueError>([](M m) { m.tensor.byte_offset = 2; }), HasSubstr("not aligned to float32"));
  EXPECT_THAT(refusal<ValueError>([](M m) { m.flags = kReadOnly; }), HasSubstr("read-only"));
  EXPECT_THROW(import(static_cast<ManagedVersioned*>(nullptr)), ValueError);
  EXPECT_THROW(import(static_cast<Managed*>(nullptr)), ValueError);
}

// Issue B10's rule: memory walked backwards is refused, and copied where the caller asks.
TEST_P(DLPack, B10_NegativeStridesAreRefusedOrCopied) {
  for (const bool copy : {false, true}) {
    Versioned source({2, 3}, {3, -1}, 6, device());
    source.managed.tensor.byte_offset = 2 * sizeof(float);  // each row from its end
    if (copy) {
      EXPECT_THAT(import(&source.managed, {.copy = true}), BitEqual(tensor({{2, 1, 0}, {5, 4, 3}})));
    } else {
      EXPECT_THROW(import(&source.managed), ValueError);
    }
    EXPECT_EQ(source.deleted, 1);
  }
}

TEST_P(DLPack, ACopyGivesBackAtOnceAndMayBeOfReadOnlyMemory) {
  Versioned source({2, 3}, {}, 6, device());
  source.managed.flags = kReadOnly;
  const Tensor x = import(&source.managed, {.copy = true});
  EXPECT_EQ(source.deleted, 1);
  x.add_(ones({2, 3}, on()));
  EXPECT_THAT(x, BitEqual(tensor({{1, 2, 3}, {4, 5, 6}})));
}

TEST_P(DLPack, StridesOfZeroAndOfSizeOne) {
  Versioned rows({2, 3}, {0, 1}, 3, device()), one({1, 3}, {-77, 1}, 3, device()), none({0, 3}, {-9, 5}, 1, device());
  EXPECT_THAT(import(&rows.managed), BitEqual(tensor({{0, 1, 2}, {0, 1, 2}})));
  EXPECT_THAT(import(&one.managed), BitEqual(tensor({{0, 1, 2}})));
  none.managed.tensor.data = nullptr;
  EXPECT_THAT(sum(import(&none.managed), 0), BitEqual(tensor({0, 0, 0})));
}

TEST_P(DLPack, AnImportMayBecomeALeafThatAsksForAGradient) {
  Versioned source({2, 3}, {}, 6, device());
  const Tensor x = import(&source.managed).requires_grad_();
  sum(x * x).backward();
  EXPECT_THAT(x.grad(), BitEqual(tensor({{0, 2, 4}, {6, 8, 10}})));
}

TEST_P(DLPack, GradientsAreNotLost) {
  const Tensor leaf = ones({2}, {.device = device(), .requires_grad = true}), made = leaf * 2;
  for (const Tensor& x : {leaf, made}) {
    EXPECT_THROW(to_dlpack(x), AutogradError);
    EXPECT_THROW(to_dlpack_unversioned(x), AutogradError);
    EXPECT_THAT(from_dlpack(to_dlpack(x.detach())), BitEqual(x.detach()));
  }
  EXPECT_THROW(to_dlpack(Tensor()), ShapeError);
}

}  // namespace
}  // namespace tally
