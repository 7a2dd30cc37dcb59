#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(AMax)
TALLY_INSTANTIATE_INTEGERS(AMax)
TALLY_INSTANTIATE_FLOATS(AMin)
TALLY_INSTANTIATE_INTEGERS(AMin)
TALLY_INSTANTIATE_FLOATS(NormInf<true>)
TALLY_INSTANTIATE_FLOATS(NormInf<false>)

}  // namespace tally::cuda_loops
