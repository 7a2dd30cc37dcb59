// cross_entropy's loops on the CPU.
#include <tally/core/parallel.h>
#include <tally/nn/loss_backend.h>
#include <tally/nn/visit_float.h>
#include <tally/ops/cpu/reduce_kernels.h>

namespace tally::detail {
void cross_entropy(Cpu, const CrossEntropyForward& call) {
  const std::int64_t rows = call.logits.size(0), classes = call.logits.size(1);
  const auto* target = call.target.data<std::int64_t>();
  for (std::int64_t r = 0; r < rows; ++r)
    if (target[r] != call.ignore_index && (target[r] < 0 || target[r] >= classes))
      throw_bad_target("cross_entropy", target[r], classes, r, call.where);
  visit_real(call.logits.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const C *x = call.logits.data<C>(), *max = call.max.data<C>(), *sum = call.sum.data<C>();
    const C* weight = call.weight.defined() ? call.weight.data<C>() : nullptr;
    C *loss = call.loss.data<C>(), *row_weight = call.row_weight.data<C>();
    parallel_for(rows, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t y = target[r];
        const bool ignored = y == call.ignore_index;
        row_weight[r] = ignored ? C(0) : weight ? weight[y] : C(1);
        loss[r] = ignored ? C(0) : negative_log_likelihood(x[r * classes + y], max[2 * r], sum[2 * r], row_weight[r]);
      }
    });
  });
}

void cross_entropy_backward(Cpu, const CrossEntropyBackward& call) {
  const std::int64_t rows = call.logits.size(0), classes = call.logits.size(1);
  const auto* target = call.target.data<std::int64_t>();
  const std::int64_t step = call.grad.strides()[0];
  visit_real(call.logits.dtype(), [&](auto zero) {
    using C = decltype(zero);
    const C *x = call.logits.data<C>(), *max = call.max.data<C>(), *sum = call.sum.data<C>(),
            *grad = call.grad.data<C>();
    const C* weight = call.weight.defined() ? call.weight.data<C>() : nullptr;
    C* gx = call.gx.data<C>();
    const auto softmax = tile_kernels(TileKind::exponentials, C()).shares;
    parallel_for(rows, std::max<std::int64_t>(1, (1 << 12) / std::max<std::int64_t>(classes, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const std::int64_t y = target[r];
                     const C *in = x + r * classes, m = max[2 * r], s = sum[2 * r];
                     C* out = gx + r * classes;
                     if (y == call.ignore_index) {
                       std::fill_n(out, classes, C(0));
                       continue;
                     }
                     const C upstream = weight ? weight[y] * grad[r * step] : grad[r * step];
                     softmax(in, classes, m, s, out);
                     for (std::int64_t c = 0; c < classes; ++c) out[c] = cross_entropy_pull(out[c], c == y, upstream);
                   }
                 });
  });
}

}  // namespace tally::detail
