// Products by cuBLAS: float32 without TF32, halves accumulated in float32, no atomics, memory of our own. So equal
// from run to run, and graphs capture them.
#include <tally/ops/cuda/matmul.h>

#include <cublas_v2.h>

#include <map>
#include <memory>

#include <tally/core/cuda/runtime.h>
#include <tally/core/error.h>
#include <tally/core/raw.h>
#include <tally/ops/cpu/matmul.h>

namespace tally::detail {
namespace {

void check(cublasStatus_t status, Where where = Where::here()) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError("matmul", std::string("cuBLAS says ") + cublasGetStatusString(status), where);
}

// A capture forbids this thread to allocate; what a handle allocates is not part of the graph.
class OutsideCapture {
 public:
  OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// What NVIDIA recommends from Hopper on.
constexpr std::size_t kWorkspace = 32 << 20;

class Handle {
 public:
  explicit Handle(cudaStream_t stream) {
    OutsideCapture scope;
    check(cublasCreate(&handle_));
    gpu::check(cudaMalloc(&workspace_, kWorkspace), "matmul workspace");
    check(cublasSetStream(handle_, stream));  // before the workspace, which it resets
    check(cublasSetWorkspace(handle_, workspace_, kWorkspace));
    check(cublasSetMathMode(
        handle_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
    check(cublasSetAtomicsMode(handle_, CUBLAS_ATOMICS_NOT_ALLOWED));
  }
  ~Handle() {
    if (handle_) cublasDestroy(handle_);
    if (workspace_) cudaFree(workspace_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
};

// One a thread and stream: neither a handle nor a workspace may serve two at once.
cublasHandle_t current_handle() {
  thread_local std::map<cudaStream_t, std::unique_ptr<Handle>> handles;
  std::unique_ptr<Handle>& handle = handles[gpu::current_stream()];
  if (!handle) handle = std::make_unique<Handle>(gpu::current_stream());
  return handle->get();
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDA_R_64F;
    case DType::float16:
      return CUDA_R_16F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

// cuBLAS has columns dense where we have rows: it is asked for the transpose, Bᵀ·Aᵀ.
void multiply_by_cublas(const Product& p) {
  const auto op = [](const MatrixLayout& layout) { return layout.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const cudaDataType_t type = type_of(p.dtype);
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = p.dtype == float64;
  const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
  const void* beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
  const cublasHandle_t handle = current_handle();

  // The innermost run of the stack is one call.
  const std::int64_t size = static_cast<std::int64_t>(size_of(p.dtype)), run = p.stack.inner();
  for (std::int64_t first = 0; first < p.stack.count; first += run) {
    std::int64_t at[3];
    p.stack.offsets(first, at);
    check(cublasGemmStridedBatchedEx_64(
        handle, op(p.b_layout), op(p.a_layout), p.n, p.m, p.k, alpha, static_cast<const char*>(p.b) + at[2] * size,
        type, p.b_layout.row, p.stack.inner_stride(2), static_cast<const char*>(p.a) + at[1] * size, type,
        p.a_layout.row, p.stack.inner_stride(1), beta, static_cast<char*>(p.c) + at[0] * size, type, p.n,
        p.stack.inner_stride(0), run, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
}

}  // namespace

void matmul(Cuda, const Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  if (a.size(-1) == 0) return raw::fill(out, 0);
  multiply_by_cublas(Product(out, as_matrices(a), as_matrices(b)));
}

}  // namespace tally::detail
