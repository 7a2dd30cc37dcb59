// Marks a function that runs on the host and, when a CUDA compiler reads it, on the device too.
#pragma once

#if defined(__CUDACC__)
#define TALLY_HD __host__ __device__
#else
#define TALLY_HD
#endif
