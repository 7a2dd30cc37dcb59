#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(Prod)
TALLY_INSTANTIATE_INTEGERS(Prod)

}  // namespace tally::cuda_loops
