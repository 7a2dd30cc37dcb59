#include <tally/ops/cuda/row_call.cuh>

namespace tally::cuda_loops {

template bool map_rows_of(const rows::Softmax&, const RowCall&);
template bool map_rows_of(const rows::LogSoftmax&, const RowCall&);

}  // namespace tally::cuda_loops
