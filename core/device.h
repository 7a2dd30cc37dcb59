// Where a tensor lives, and the one place where a device chooses an implementation.
#pragma once

#include <utility>

namespace tally {

/// The CPU, or the one current CUDA device (core/cuda/device.h).
enum class Device : unsigned char { cpu, cuda };
inline constexpr Device cpu = Device::cpu;
inline constexpr Device cuda = Device::cuda;

/// Whether this build has a CUDA half. A device need not be there: is_available() asks for that.
#if defined(TALLY_WITH_CUDA)
inline constexpr bool kHasCuda = true;
#else
inline constexpr bool kHasCuda = false;
#endif

// A kernel is a pair of overloads, f(Cpu, ...) and f(Cuda, ...).
struct Cpu {};
struct Cuda {};

/// "cpu" or "cuda".
inline const char* name_of(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

namespace detail {
[[noreturn]] void throw_no_cuda();  // DeviceError: this build has no CUDA
}

/// f(Cpu{}) or f(Cuda{}). Without CUDA the second is never instantiated, so there is nothing to stub.
template <class F> decltype(auto) on(Device device, F&& f) {
  if constexpr (kHasCuda) {
    if (device == Device::cuda) return f(Cuda{});
  } else if (device == Device::cuda) {
    detail::throw_no_cuda();
  }
  return f(Cpu{});
}

/// Whether tensors can live on `device` in this build on this machine.
bool is_available(Device device);

}  // namespace tally
