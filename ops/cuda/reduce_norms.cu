#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(Norm2)
TALLY_INSTANTIATE_FLOATS(NormP)

}  // namespace tally::cuda_loops
