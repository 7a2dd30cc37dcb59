// For the reduce_*.cu files: all element types of some ops.
#pragma once

#include <tally/ops/reductions.h>
#include <tally/ops/cuda/reduce.cuh>

#define TALLY_INSTANTIATE(Op, T)                                                                       \
  template void reduce<Op, T>(const Op&, const Lists&, const T*, const Results<Op, T>&);               \
  template void reduce_backward<Op, T>(const Op&, const Strided<5>&, std::int64_t, const T*, const T*, \
                                       const typename Op::template Acc<Compute<T>>*, T*);
#define TALLY_INSTANTIATE_FLOATS(Op) \
  TALLY_INSTANTIATE(Op, float)       \
  TALLY_INSTANTIATE(Op, double)      \
  TALLY_INSTANTIATE(Op, Float16)     \
  TALLY_INSTANTIATE(Op, BFloat16)
#define TALLY_INSTANTIATE_INTEGERS(Op) \
  TALLY_INSTANTIATE(Op, std::int64_t)  \
  TALLY_INSTANTIATE(Op, std::int32_t)  \
  TALLY_INSTANTIATE(Op, std::uint8_t)
