#include <tally/ops/cuda/reduce_instances.cuh>

namespace tally::cuda_loops {

TALLY_INSTANTIATE_FLOATS(CountNonzero)
TALLY_INSTANTIATE_INTEGERS(CountNonzero)
TALLY_INSTANTIATE_FLOATS(Any)
TALLY_INSTANTIATE_INTEGERS(Any)
TALLY_INSTANTIATE_FLOATS(All)
TALLY_INSTANTIATE_INTEGERS(All)
TALLY_INSTANTIATE_FLOATS(Norm0)

}  // namespace tally::cuda_loops
