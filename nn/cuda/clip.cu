// The norm of all gradients from their accumulators, and what follows from it, by one block.
#include <tally/core/cuda/kernel.h>
#include <tally/core/cuda/status.h>
#include <tally/nn/clip_backend.h>

namespace tally::detail {
namespace {

constexpr int kThreads = 256;

/// `acc` holds 2 · places: each level of the tree is written into the half that the last one did not use.
template <class Op, class C>
__global__ void decide_kernel(Op op, typename Op::template Acc<C>* acc, std::int64_t places, std::int64_t elements,
                              C max_norm, bool raises, std::int64_t names, C* norm, ClipDecision<C>* decision,
                              gpu::Status status) {
  struct Shared {
    unsigned long long offender;
  };
  Shared& shared = gpu::shared<Shared>();
  if (threadIdx.x == 0) shared.offender = static_cast<unsigned long long>(places);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < places; i += kThreads)
    if (!is_finite(op, acc[i], elements)) atomicMin(&shared.offender, static_cast<unsigned long long>(i));
  auto *from = acc, *to = acc + places;
  for (std::int64_t left = places; left > 1; left = (left + 1) / 2) {
    __syncthreads();
    for (std::int64_t k = threadIdx.x; k < (left + 1) / 2; k += kThreads)
      to[k] = 2 * k + 1 < left ? op.combine(from[2 * k], from[2 * k + 1]) : from[2 * k];
    auto* other = from;
    from = to;
    to = other;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  *norm = op.project(from[0], elements, C(0));
  *decision = clip_decision(op, from[0], elements, *norm, max_norm);
  if (raises && !is_finite(op, from[0], elements))
    gpu::report(status, 0, names, static_cast<std::int64_t>(shared.offender));
}

void raise_not_finite(const char* op, Where where, const gpu::Report& report) {
  throw_not_finite(op, report.limit, report.index, where);
}

}  // namespace

std::int64_t decide(Cuda, const ClipNorm& call) {
  const gpu::Status status = gpu::watch("clip_grad_norm_", call.where, raise_not_finite);
  std::visit(
      [&](const auto& op) {
        visit_real(call.norm.dtype(), [&](auto zero) {
          using C = decltype(zero);
          using Op = std::decay_t<decltype(op)>;
          using Acc = typename Op::template Acc<C>;
          gpu::launch(decide_kernel<Op, C>, {1, kThreads, 0, "clip_grad_norm_"}, op,
                      static_cast<Acc*>(call.accumulators.raw()), call.places, call.elements,
                      static_cast<C>(call.max_norm), call.raises, call.names, call.norm.data<C>(),
                      static_cast<ClipDecision<C>*>(call.decision.raw()), status);
        });
      },
      call.op);
  return -1;
}

}  // namespace tally::detail
