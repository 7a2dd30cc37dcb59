// A namespace for each instruction set the host code may be compiled for. Files of several live in one library; without
// it the linker would keep one body of an inline function, and a baseline machine could get the AVX-512 one.
#pragma once

#if defined(__CUDACC__)
#define TALLY_MATH_ISA cuda
#elif defined(__AVX512F__)
#define TALLY_MATH_ISA avx512
#elif defined(__AVX2__)
#define TALLY_MATH_ISA avx2
#else
#define TALLY_MATH_ISA baseline
#endif
