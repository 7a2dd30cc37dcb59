// Marks a function that runs on the host and, when a CUDA compiler reads it, on the device too.
#pragma once

#if defined(__CUDACC__)
#define TALLY_HD __host__ __device__
// For what loops and kernels rarely run: one copy of the code, out of the way. Nothing but a result comes of it.
#define TALLY_HD_COLD __host__ __device__ __noinline__
#else
#define TALLY_HD
#define TALLY_HD_COLD __attribute__((noinline, cold, pure))
#endif
