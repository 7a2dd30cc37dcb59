#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(Var)
TALLY_INSTANTIATE_FLOATS(Std)

}  // namespace tally::cuda_loops
