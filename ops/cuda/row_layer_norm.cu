#include <tally/ops/cuda/row_call.cuh>

namespace tally::cuda_loops {

template bool map_rows_of(const rows::LayerNorm&, const RowCall&);
template bool map_rows_of(const rows::LayerNormBackward&, const RowCall&);

}  // namespace tally::cuda_loops
