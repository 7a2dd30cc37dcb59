#include <tally/core/cuda/device.h>

#include <tally/core/cuda/recording.h>
#include <tally/core/cuda/runtime.h>
#include <tally/core/cuda/staging.h>
#include <tally/core/cuda/status.h>

namespace tally::gpu {

namespace {

struct Found {
  bool works;
  std::string line;
};

#if defined(TALLY_SIMT)
Found look() { return {true, "emulated on the CPU (SIMT)"}; }
#else
std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

Found look() {
  int count = 0;
  cudaError_t result = cudaGetDeviceCount(&count);
  cudaDeviceProp device;
  if (result == cudaSuccess && count == 0) result = cudaErrorNoDevice;
  if (result == cudaSuccess) result = cudaGetDeviceProperties(&device, 0);
  if (result == cudaSuccess) result = cudaFree(nullptr);  // makes the context
  if (result != cudaSuccess) {
    cudaGetLastError();
    return {false, std::string("no CUDA device: ") + cudaGetErrorString(result)};
  }
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return {true, "CUDA " + version(runtime) + " runtime, " + device.name + " (sm_" + std::to_string(device.major) +
                    std::to_string(device.minor) + "), driver " + version(driver)};
}
#endif

const Found& found() {
  static const Found found = look();
  return found;
}

}  // namespace

bool available() { return found().works; }
std::string describe() { return found().line; }

// All copies go to the current stream. A plain cudaMemcpy would go to the legacy default stream, which is not ordered
// with it: kernels could read what has not arrived.
void copy_to_device(void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes <= detail::kStagedBytes || capturing()) return detail::copy_staged(target, source, bytes);
  check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, current_stream()), "copy_to_device");
}

void copy_to_host(void* target, const void* source, std::size_t bytes) {
  detail::refuse_in_capture("copy_to_host");
  if (bytes > 0)
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, current_stream()), "copy_to_host");
  check_status();
}

void copy_on_device(void* target, const void* source, std::size_t bytes) {
  if (bytes > 0)
    check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, current_stream()), "copy_on_device");
}

void fill_bytes(void* target, unsigned char value, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(target, value, bytes, current_stream()), "fill_bytes");
}

void wait_for_device() noexcept {
  if (!detail::recording() && cudaDeviceSynchronize() != cudaSuccess) cudaGetLastError();
}

void synchronize() {
  detail::refuse_in_capture("synchronize");
  check_status();
}

}  // namespace tally::gpu
