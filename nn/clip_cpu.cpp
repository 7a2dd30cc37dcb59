#include <tally/core/parallel.h>
#include <tally/nn/clip_backend.h>
#include <tally/ops/cpu/reduce_tile.h>
#include <tally/ops/reduce_backend.h>

namespace tally::detail {
namespace {

/// The accumulator of each gradient.
template <class Op, class C> std::vector<typename Op::template Acc<C>> accumulate(const Op& op, const ClipNorm& call) {
  using Acc = typename Op::template Acc<C>;
  std::vector<Acc> accumulators(call.grads.size(), op.template identity<C>());
  const Tensor bytes = empty({sizeof(Acc)}, {.dtype = uint8});
  for (std::size_t i = 0; i < call.grads.size(); ++i) {
    const Tensor& grad = call.grads[i];
    if (!grad.defined()) continue;
    const Lists lists = plan_reduction("clip_grad_norm_", grad, {}, {}, call.where).lists;
    const Tensor unused = empty({}, {.dtype = grad.dtype()});
    reduce(Cpu(), Reduction(op), {.x = grad, .lists = lists, .first = unused, .second = {}, .accumulators = bytes});
    accumulators[i] = *static_cast<const Acc*>(bytes.raw());
  }
  return accumulators;
}

template <class C, class Op> std::int64_t decide_in(const Op& op, const ClipNorm& call) {
  auto accumulators = accumulate<Op, C>(op, call);
  const auto places = static_cast<std::int64_t>(accumulators.size());
  std::int64_t offender = 0;
  while (offender < places && is_finite(op, accumulators[static_cast<std::size_t>(offender)], call.elements))
    ++offender;
  const auto total = cpu_loops::tree(op, accumulators.data(), places);
  const C norm = op.project(total, call.elements, C(0));
  *call.norm.data<C>() = norm;
  *static_cast<ClipDecision<C>*>(call.decision.raw()) =
      clip_decision(op, total, call.elements, norm, static_cast<C>(call.max_norm));
  return is_finite(op, total, call.elements) ? -1 : offender;
}

}  // namespace

std::int64_t decide(Cpu, const ClipNorm& call) {
  const FloatGuard guard;
  return std::visit(
      [&](const auto& op) {
        return visit_real(call.norm.dtype(), [&](auto zero) { return decide_in<decltype(zero)>(op, call); });
      },
      call.op);
}

}  // namespace tally::detail
