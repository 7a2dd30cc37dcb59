#include <tally/core/error.h>

#include "support.h"

namespace tally::gpu {
namespace {

class Intrinsics : public CudaTest {};

// One row of 32 results for each kind of shuffle; lane l brings 100 + l.
__global__ void shuffles(int* out) {
  const int lane = threadIdx.x, mine = 100 + lane;
  out[0 * 32 + lane] = __shfl_sync(kAllLanes, mine, 5);
  out[1 * 32 + lane] = __shfl_sync(kAllLanes, mine, 9, 8);
  out[2 * 32 + lane] = __shfl_xor_sync(kAllLanes, mine, 3);
  out[3 * 32 + lane] = __shfl_xor_sync(kAllLanes, mine, 8, 8);
  out[4 * 32 + lane] = __shfl_down_sync(kAllLanes, mine, 3);
  out[5 * 32 + lane] = __shfl_down_sync(kAllLanes, mine, 3, 16);
  out[6 * 32 + lane] = __shfl_up_sync(kAllLanes, mine, 3);
  out[7 * 32 + lane] = __shfl_up_sync(kAllLanes, mine, 3, 16);
  out[8 * 32 + lane] = __shfl_sync(kAllLanes, mine, lane + 1);
}

TEST_F(Intrinsics, ShufflesWithWidths) {
  Array<int> out(9 * 32);
  launch(shuffles, {1, 32}, out.data());
  const std::vector<int> host = out.host();
  for (int lane = 0; lane < 32; ++lane) {
    const auto row = [&](int i) { return host[i * 32 + lane] - 100; };
    EXPECT_EQ(row(0), 5);
    EXPECT_EQ(row(1), lane / 8 * 8 + 1);
    EXPECT_EQ(row(2), lane ^ 3);
    EXPECT_EQ(row(3), lane & 8 ? lane - 8 : lane);  // an earlier group may be read, a later one not
    EXPECT_EQ(row(4), lane < 29 ? lane + 3 : lane);
    EXPECT_EQ(row(5), lane % 16 < 13 ? lane + 3 : lane);
    EXPECT_EQ(row(6), lane >= 3 ? lane - 3 : lane);
    EXPECT_EQ(row(7), lane % 16 >= 3 ? lane - 3 : lane);
    EXPECT_EQ(row(8), (lane + 1) % 32);
  }
}

// Halves of a warp exchange on their own, at different times and places.
__global__ void halves(int* out) {
  const int lane = threadIdx.x;
  int value = lane;
  if (lane < 16) {
    for (int round = 0; round < 3; ++round) value += __shfl_xor_sync(0x0000ffffu, value, 1);
  } else {
    value = __shfl_sync(0xffff0000u, value, 16 + (lane + 1) % 16);
  }
  __syncwarp();
  out[lane] = __shfl_sync(kAllLanes, value, 31 - lane);
}

TEST_F(Intrinsics, MasksOfHalfAWarp) {
  Array<int> out(32);
  launch(halves, {1, 32}, out.data());
  const std::vector<int> host = out.host();
  for (int lane = 0; lane < 32; ++lane) {
    const int value = lane < 16 ? 4 * (lane + (lane ^ 1)) : 16 + (lane + 1) % 16;
    EXPECT_EQ(host[31 - lane], value);
  }
}

// Lanes leave one after another; those that stay name only one another.
__global__ void leave(int* out) {
  const int lane = threadIdx.x;
  if (lane >= 8) return;
  out[lane] = __shfl_xor_sync(0xffu, lane, 1);
  if (lane >= 4) return;
  out[lane] += 10 * __shfl_xor_sync(0xfu, lane, 2);
}

TEST_F(Intrinsics, LanesThatReturnedAreNotNamed) {
  Array<int> out(8);
  launch(leave, {1, 32}, out.data());
  EXPECT_EQ(out.host(), (std::vector<int>{21, 30, 3, 12, 5, 4, 7, 6}));
}

__global__ void votes(unsigned* out) {
  const int lane = threadIdx.x;
  const unsigned odd = __ballot_sync(kAllLanes, lane % 2), any = __any_sync(kAllLanes, lane == 3);
  const unsigned none = __any_sync(kAllLanes, lane == 32), all = __all_sync(kAllLanes, lane < 32);
  const unsigned most = __all_sync(kAllLanes, lane != 9);
  unsigned part = 0;
  if (lane < 4) part = __ballot_sync(0xfu, lane > 1) | __all_sync(0xfu, lane < 4) << 8;
  if (lane == 2) {
    out[0] = odd;
    out[1] = any != 0;
    out[2] = none != 0;
    out[3] = all != 0;
    out[4] = most != 0;
    out[5] = part & 0xff;
    out[6] = (part >> 8) != 0;
  }
}

TEST_F(Intrinsics, Votes) {
  Array<unsigned> out(7);
  launch(votes, {1, 32}, out.data());
  EXPECT_EQ(out.host(), (std::vector<unsigned>{0xaaaaaaaau, 1, 0, 1, 0, 0xc, 1}));
}

struct Moments {  // 20 bytes would be padded; 24 with a tail that is not a whole word
  double mean;
  long long count;
  float spread;
  short tag;
};

__global__ void shuffle_structs(Moments* out, char* bytes) {
  const int lane = threadIdx.x;
  const Moments mine{lane + 0.5, 1ll << lane, -1.f * lane, static_cast<short>(lane * 7)};
  out[0 * 32 + lane] = shuffle(mine, 30);
  out[1 * 32 + lane] = shuffle_xor(mine, 16);
  out[2 * 32 + lane] = shuffle_down(mine, 2);
  out[3 * 32 + lane] = shuffle_up(mine, 2);
  bytes[lane] = shuffle_xor(static_cast<char>(lane), 1);
}

TEST_F(Intrinsics, ShufflesOfStructs) {
  Array<Moments> out(4 * 32);
  Array<char> bytes(32);
  launch(shuffle_structs, {1, 32}, out.data(), bytes.data());
  const std::vector<Moments> host = out.host();
  const std::vector<char> chars = bytes.host();
  for (int lane = 0; lane < 32; ++lane) {
    const int sources[] = {30, lane ^ 16, lane < 30 ? lane + 2 : lane, lane >= 2 ? lane - 2 : lane};
    for (int kind = 0; kind < 4; ++kind) {
      const Moments& got = host[kind * 32 + lane];
      const int source = sources[kind];
      EXPECT_EQ(got.mean, source + 0.5);
      EXPECT_EQ(got.count, 1ll << source);
      EXPECT_EQ(got.spread, -1.f * source);
      EXPECT_EQ(got.tag, source * 7);
    }
    EXPECT_EQ(chars[lane], lane ^ 1);
  }
}

template <class T> __global__ void copy_vectors(const T* in, T* out) {
  Vector<T> vector = load_vector(in + threadIdx.x * Vector<T>::size);
  TALLY_UNROLL
  for (int i = 0; i < vector.size; ++i) vector[i] = vector[i] + T(1);
  store_vector(out + threadIdx.x * Vector<T>::size, vector);
}

template <class T> void expect_vectors_copied() {
  std::vector<T> values(32 * Vector<T>::size);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 100);
  Array<T> in(values), out(values.size());
  launch(copy_vectors<T>, {1, 32}, in.data(), out.data());
  for (T& value : values) value = static_cast<T>(value + 1);
  EXPECT_EQ(out.host(), values);
}

TEST_F(Intrinsics, SixteenByteVectors) {
  static_assert(Vector<char>::size == 16 && Vector<double>::size == 2 && alignof(Vector<float>) == 16);
  expect_vectors_copied<char>();
  expect_vectors_copied<short>();
  expect_vectors_copied<float>();
  expect_vectors_copied<double>();
}

struct Pair {
  alignas(8) float value;
  int index;
};

template <class T> __global__ void copy_scalars(const T* in, T* out) {
  store_streaming(out + threadIdx.x, load_streaming(in + threadIdx.x));
  store_streaming(out + 32 + threadIdx.x, load_coherent(in + threadIdx.x));
}

TEST_F(Intrinsics, HintedLoadsAndStoresOfScalars) {
  std::vector<Pair> pairs(32);
  for (int i = 0; i < 32; ++i) pairs[i] = {i * 0.5f, -i};
  Array<Pair> in(pairs), out(64);
  launch(copy_scalars<Pair>, {1, 32}, in.data(), out.data());
  const std::vector<Pair> host = out.host();
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(host[i].value, i % 32 * 0.5f);
    EXPECT_EQ(host[i].index, -(i % 32));
  }
}

}  // namespace
}  // namespace tally::gpu
