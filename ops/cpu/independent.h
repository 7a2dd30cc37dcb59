// TALLY_INDEPENDENT before a loop: each result depends on the inputs at its own place alone, also where it overwrites
// one of them.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define TALLY_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TALLY_INDEPENDENT
#endif
