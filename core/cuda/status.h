// What only the device can see (a label out of range, a norm that is not finite) goes into one status word on the
// device; the next `copy_to_host` or `synchronize` throws it with the op's name and the caller's line.
//
//   Status status = watch("cross_entropy", where, [](const char* op, Where where, const Report& report) {
//     throw IndexError(op, "target " + std::to_string(report.value) + " at " + ..., where);
//   });
//   launch(kernel, grid, ..., status);
//
// In the kernel: `report(status, target, classes, row)`. The first report wins. Kernels that write parameters,
// optimizer state or buffers begin with `if (raised(status)) return;`, so that nothing is half done. The throw clears
// the word.
#pragma once

#include <cstdint>

#if defined(TALLY_SIMT)
#include <tally/core/cuda/simt/device.h>
#endif
#include <tally/core/where.h>

namespace tally::gpu {

/// What a kernel said: the offending value, the limit it broke and where in the data it stood.
struct Report {
  std::int64_t value = 0;
  std::int64_t limit = 0;
  std::int64_t index = 0;
};
/// On the device: who has reported, and what.
struct StatusWord {
  int site;  // 0: nothing reported; -1: being written
  Report report;
};

/// Passed to kernels by value.
struct Status {
  StatusWord* word;
  int site;
};

/// Throws the error that fits the report.
using Raise = void (*)(const char* op, Where where, const Report& report);

/// The status for a launch made on behalf of `op`, called at `where`. One entry is kept for each (op, where, raise).
/// `op` is kept as it is: a string literal.
Status watch(const char* op, Where where, Raise raise);

/// For kernels that only look: `raised(status())`.
Status status();

/// Waits for the current stream and throws what has been reported on it, if anything.
void check_status();

#if defined(__CUDACC__) || defined(TALLY_SIMT)

__device__ inline bool raised(Status status) { return __ldcg(&status.word->site) != 0; }

__device__ inline void report(Status status, std::int64_t value, std::int64_t limit, std::int64_t index) {
  if (atomicCAS(&status.word->site, 0, -1) != 0) return;
  status.word->report = {value, limit, index};
  __threadfence();
  atomicExch(&status.word->site, status.site);
}

#endif

}  // namespace tally::gpu
