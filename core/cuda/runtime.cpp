#include <tally/core/cuda/runtime.h>

#include <tally/core/error.h>

namespace tally::gpu {

void check(cudaError_t result, const char* op, Where where) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  throw CudaError(op, std::string(cudaGetErrorString(result)) + " (" + cudaGetErrorName(result) + ")", where);
}

}  // namespace tally::gpu
