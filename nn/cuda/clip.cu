// The norm of all gradients and what follows from it: the last block of the reduction decides.
#include <tally/core/cuda/status.h>
#include <tally/nn/clip_backend.h>
#include <tally/ops/cuda/reduce_many.cuh>

namespace tally::detail {
namespace {

/// `accumulators` holds 2 · places: each level of the tree is written into the half that the last one did not use.
template <class Op, class C> struct Decide {
  using Acc = typename Op::template Acc<C>;
  Op op;
  Acc* accumulators;
  std::int64_t places, elements;
  C max_norm;
  bool raises;
  std::int64_t names;
  C* norm;
  ClipDecision<C>* decision;
  gpu::Status status;

  __device__ void operator()() const {
    struct Shared {
      unsigned long long offender;
    };
    Shared& shared = gpu::shared<Shared>();
    const std::int64_t thread = threadIdx.x, threads = blockDim.x;
    if (thread == 0) shared.offender = static_cast<unsigned long long>(places);
    __syncthreads();
    for (std::int64_t i = thread; i < places; i += threads)
      if (!is_finite(op, cuda_loops::load_partial(accumulators + i), elements))
        atomicMin(&shared.offender, static_cast<unsigned long long>(i));
    Acc *from = accumulators, *to = accumulators + places;
    for (std::int64_t left = places; left > 1; left = (left + 1) / 2) {
      __syncthreads();
      for (std::int64_t k = thread; k < (left + 1) / 2; k += threads) {
        const Acc earlier = cuda_loops::load_partial(from + 2 * k);
        to[k] = 2 * k + 1 < left ? op.combine(earlier, cuda_loops::load_partial(from + 2 * k + 1)) : earlier;
      }
      Acc* other = from;
      from = to;
      to = other;
    }
    __syncthreads();
    if (thread != 0) return;
    const Acc total = cuda_loops::load_partial(from);
    *norm = op.project(total, elements, C(0));
    *decision = clip_decision(op, total, elements, *norm, max_norm);
    if (raises && !is_finite(op, total, elements))
      gpu::report(status, 0, names, static_cast<std::int64_t>(shared.offender));
  }
};

void raise_not_finite(const char* op, Where where, const gpu::Report& report) {
  throw_not_finite(op, report.limit, report.index, where);
}

template <class T, class Op> void decide_on(const Op& op, const ClipNorm& call) {
  using C = Compute<T>;
  using Acc = typename Op::template Acc<C>;
  std::vector<cuda_loops::Array<T>> arrays;
  for (const Tensor& grad : call.grads)
    arrays.push_back(grad.defined() ? cuda_loops::Array<T>{static_cast<const T*>(grad.raw()), grad.numel()}
                                    : cuda_loops::Array<T>{});
  const auto places = static_cast<std::int64_t>(arrays.size());
  const cuda_loops::Scratch accumulators(2 * arrays.size() * sizeof(Acc));
  const Decide<Op, C> decide{op,
                             accumulators.as<Acc>(),
                             places,
                             call.elements,
                             static_cast<C>(call.max_norm),
                             call.raises,
                             call.names,
                             call.norm.data<C>(),
                             static_cast<ClipDecision<C>*>(call.decision.raw()),
                             gpu::watch("clip_grad_norm_", call.where, raise_not_finite)};
  cuda_loops::reduce_arrays("clip_grad_norm_", op, arrays, accumulators.as<Acc>(), decide);
}

}  // namespace

std::int64_t decide(Cuda, const ClipNorm& call) {
  DType dtype = call.norm.dtype();
  for (const Tensor& grad : call.grads)
    if (grad.defined()) dtype = grad.dtype();
  std::visit(
      [&](const auto& op) {
        visit_floating(dtype, [&](auto tag) { decide_on<typename decltype(tag)::type>(op, call); });
      },
      call.op);
  return -1;
}

}  // namespace tally::detail
