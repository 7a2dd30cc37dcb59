#include <tally/ops/row_backend.h>

namespace tally {
namespace cuda_loops {
template <class Op> bool map_rows_of(const Op& op, const RowCall& call);
}

bool map_rows(Cuda, const RowOp& op, const RowCall& call) {
  return std::visit([&](const auto& one) { return cuda_loops::map_rows_of(one, call); }, op);
}

}  // namespace tally
