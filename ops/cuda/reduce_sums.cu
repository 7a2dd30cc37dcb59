#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(Sum)
TALLY_INSTANTIATE_INTEGERS(Sum)
TALLY_INSTANTIATE_FLOATS(Mean)
TALLY_INSTANTIATE_FLOATS(Norm1)

}  // namespace tally::cuda_loops
