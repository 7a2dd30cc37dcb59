#include <tally/ops/cuda/row_call.cuh>

namespace tally::cuda_loops {

template bool map_rows_of(const rows::SoftmaxBackward&, const RowCall&);
template bool map_rows_of(const rows::LogSoftmaxBackward&, const RowCall&);

}  // namespace tally::cuda_loops
