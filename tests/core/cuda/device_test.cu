#include <tally/core/cuda/status.h>
#include <tally/core/error.h>

#include <thread>

#include "support.h"

namespace tally::gpu {
namespace {

TEST(CudaDevice, DescribesItselfInOneLine) {
  const std::string line = describe();
  EXPECT_EQ(line.find('\n'), std::string::npos);
#if defined(TALLY_SIMT)
  EXPECT_TRUE(available());
  EXPECT_EQ(line, "emulated on the CPU (SIMT)");
#else
  EXPECT_EQ(line.rfind(available() ? "CUDA " : "no CUDA device: ", 0), 0u) << line;
#endif
  EXPECT_TRUE(compiled());
}

class Device : public CudaTest {};

__global__ void add_to_all(int* values, int n, int amount) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += amount;
}

__global__ void sum_all(const int* values, int n, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  atomicAdd(sum, mine);
}

TEST_F(Device, CopiesAndFills) {
  for (std::size_t size : {1, 5, 4096, 4097, 300000}) {  // below and above what is staged
    std::vector<int> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<int>(i * 3 + 1);
    Array<int> a(values), b(size);
    copy_on_device(b.data(), a.data(), size * sizeof(int));
    fill_bytes(a.data(), 0x11, size * sizeof(int));
    EXPECT_EQ(b.host(), values);
    EXPECT_EQ(a.host(), std::vector<int>(size, 0x11111111));
  }
  copy_to_device(nullptr, nullptr, 0);
  copy_to_host(nullptr, nullptr, 0);
  copy_on_device(nullptr, nullptr, 0);
  fill_bytes(nullptr, 0, 0);
}

TEST_F(Device, TheSourceOfAnUploadMayChangeAtOnce) {
  const int rounds = 600;  // more than there are slots
  Array<int> out(rounds);
  int value = 0;
  for (int i = 0; i < rounds; ++i) {
    value = i * i;
    copy_to_device(out.data() + i, &value, sizeof value);
    value = -1;
  }
  const std::vector<int> host = out.host();
  for (int i = 0; i < rounds; ++i) ASSERT_EQ(host[i], i * i);
}

// faults.md B58: an upload from ordinary memory is ordered before the work that follows it.
TEST_F(Device, LargeUploadsArriveBeforeTheKernelThatReads) {
#if defined(TALLY_SIMT)
  const int rounds = 3;
#else
  const int rounds = 200;
#endif
  const int n = 512 * 1024;  // 2 MiB
  std::vector<int> values(n);
  Array<int> device(n);
  Array<unsigned long long> sum(1);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < n; ++i) values[i] = i % 1000 + round;
    unsigned long long expected = 0;
    for (int value : values) expected += static_cast<unsigned long long>(value);
    fill_bytes(sum.data(), 0, sizeof expected);
    copy_to_device(device.data(), values.data(), n * sizeof(int));
    launch(sum_all, {64, 64}, device.data(), n, sum.data());
    ASSERT_EQ(sum.host()[0], expected) << "round " << round;
  }
}

TEST_F(Device, StreamsAreOrderedWhereAsked) {
  Array<int> values(std::vector<int>(1000, 1));
  Stream stream;
  stream.wait_for_current();
  {
    StreamScope scope(stream);
    EXPECT_EQ(current_stream_handle(), stream.handle());
    for (int i = 0; i < 20; ++i) launch(add_to_all, {32, 32}, values.data(), 1000, 2);
  }
  EXPECT_NE(current_stream_handle(), stream.handle());
  current_waits_for(stream);
  launch(add_to_all, {32, 32}, values.data(), 1000, 100);
  EXPECT_EQ(values.host(), std::vector<int>(1000, 141));
  Stream second;
  second.wait_for(stream);
  second.synchronize();
}

TEST_F(Device, ThreadsShareTheLibrarysStream) {
  Array<int> values(std::vector<int>(100, 0));
  void* seen = nullptr;
  std::thread([&] {
    seen = current_stream_handle();
    launch(add_to_all, {4, 32}, values.data(), 100, 5);
  }).join();
  EXPECT_EQ(seen, current_stream_handle());
  EXPECT_EQ(values.host(), std::vector<int>(100, 5));
}

TEST_F(Device, EventsMeasureTime) {
  cudaEvent_t start, end;
  check(cudaEventCreate(&start), "test");
  check(cudaEventCreate(&end), "test");
  Array<int> values(std::vector<int>(4096, 0));
  check(cudaEventRecord(start, current_stream()), "test");
  for (int i = 0; i < 10; ++i) launch(add_to_all, {128, 32}, values.data(), 4096, 1);
  check(cudaEventRecord(end, current_stream()), "test");
  check(cudaEventSynchronize(end), "test");
  float milliseconds = -1;
  check(cudaEventElapsedTime(&milliseconds, start, end), "test");
  EXPECT_GT(milliseconds, 0);
  EXPECT_LT(milliseconds, 10000);
  cudaEventDestroy(start);
  cudaEventDestroy(end);
}

TEST_F(Device, ErrorsOfTheRuntimeAreThrownOnceWithTheOpsName) {
  EXPECT_NE(message_of<CudaError>([] { check(cudaErrorInvalidValue, "some_op"); }).find("some_op: invalid argument"),
            std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace tally::gpu
