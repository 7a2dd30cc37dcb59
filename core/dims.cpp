#include <tally/core/dims.h>

#include <algorithm>

#include <tally/core/error.h>

namespace tally {

int normalize_dim(const char* op, std::int64_t dim, int rank, Where where) {
  const std::int64_t bound = std::max(rank, 1);
  if (dim < -bound || dim >= bound)
    throw IndexError(op,
                     "dim " + std::to_string(dim) + " is out of range for a " + std::to_string(rank) +
                         "-d tensor (valid: " + std::to_string(-bound) + " to " + std::to_string(bound - 1) + ")",
                     where);
  return static_cast<int>(dim < 0 ? dim + bound : dim);
}

DimSet::DimSet(const char* op, const Dims& dims, int rank, Where where) {
  if (dims.all()) bits_ = (1u << rank) - 1;
  for (int i = 0; i < dims.size(); ++i) {
    const int dim = normalize_dim(op, dims[i], rank, where);
    if (contains(dim)) throw ShapeError(op, "dim " + std::to_string(dims[i]) + " is listed twice", where);
    bits_ |= 1u << dim;
  }
}

}  // namespace tally
