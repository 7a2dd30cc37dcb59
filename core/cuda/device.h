// The CUDA device as the rest of the library sees it: no CUDA type here. The device is either a GPU or, in a build with
// TALLY_SIMT, the emulation on the CPU. Work is queued on the current stream (stream.h); nothing waits for the device
// but `copy_to_host` and `synchronize`, and these two also throw what kernels have reported (status.h).
#pragma once

#include <cstddef>
#include <string>

#include <tally/core/cuda/graph.h>
#include <tally/core/cuda/memory.h>
#include <tally/core/cuda/stream.h>

namespace tally::gpu {

#if defined(TALLY_WITH_CUDA)

constexpr bool compiled() { return true; }  ///< with CUDA

/// Whether there is a device that works.
bool available();

/// One line: "CUDA 13.0 runtime, NVIDIA H200 (sm_90), driver 13.0", "no CUDA device: <reason>" or
/// "emulated on the CPU (SIMT)".
std::string describe();

#else

constexpr bool compiled() { return false; }
constexpr bool available() { return false; }
inline std::string describe() { return "no CUDA device: this build is for the CPU only"; }

#endif

/// Returns when `source` may be changed; the copy itself is in order with the stream's work.
void copy_to_device(void* target, const void* source, std::size_t bytes);

/// Waits for the stream's work and for the copy.
void copy_to_host(void* target, const void* source, std::size_t bytes);

/// The ranges must not overlap.
void copy_on_device(void* target, const void* source, std::size_t bytes);

/// Sets each byte to `value`.
void fill_bytes(void* target, unsigned char value, std::size_t bytes);

/// Waits for all work on the device, that of other libraries' streams too, and throws nothing. No wait in a capture.
void wait_for_device() noexcept;

/// Waits for all work of the current stream.
void synchronize();

}  // namespace tally::gpu
