// Marks a function that runs on the host and, when a CUDA compiler reads it, on the device too.
#pragma once

#if defined(__CUDACC__)
#define TALLY_HD __host__ __device__
// For what loops and kernels rarely run: one copy of the code, out of the way. Nothing but a result comes of it.
#define TALLY_HD_COLD __host__ __device__ __noinline__
// For what costs far more than its call: one copy of the code in a kernel, which would unroll it for every element.
#define TALLY_HD_LONG __host__ __device__ __noinline__
// Before a loop that a kernel is to unroll so far, a constant expression; 1: not at all.
#define TALLY_HD_UNROLL(times) TALLY_HD_PRAGMA(unroll times)
#define TALLY_HD_PRAGMA(words) _Pragma(#words)
#else
#define TALLY_HD
#define TALLY_HD_COLD __attribute__((noinline, cold, pure))
#define TALLY_HD_LONG
#define TALLY_HD_UNROLL(times) static_assert((times) > 0);
#endif
