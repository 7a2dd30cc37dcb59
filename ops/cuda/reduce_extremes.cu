#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(Max)
TALLY_INSTANTIATE_INTEGERS(Max)
TALLY_INSTANTIATE_FLOATS(Min)
TALLY_INSTANTIATE_INTEGERS(Min)

}  // namespace tally::cuda_loops
