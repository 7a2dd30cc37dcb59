// What cross_entropy asks of a device: rows of logits [R, C] against classes [R]. All dense; logits, weight and the
// results of one dtype, float32 or float64.
#pragma once

#include <tally/core/device.h>
#include <tally/core/math.h>
#include <tally/core/tensor.h>

namespace tally::detail {

/// What is common to both directions; max and sum are those of softmax, two elements apart (ops/softmax.h).
struct CrossEntropyRows {
  Tensor logits, target, weight, max, sum;  // weight [C] or undefined
  std::int64_t ignore_index = -100;
};

/// loss[r] and row_weight[r], the weight of the row's class; both 0 for an ignored row. Targets out of range:
/// IndexError, on CUDA through the status word.
struct CrossEntropyForward : CrossEntropyRows {
  Tensor loss, row_weight;
  Where where;
};
void cross_entropy(Cpu, const CrossEntropyForward& call);
void cross_entropy(Cuda, const CrossEntropyForward& call);

/// gx = (softmax - one hot) · weight · grad; grad [R], of any stride.
struct CrossEntropyBackward : CrossEntropyRows {
  Tensor grad, gx;
};
void cross_entropy_backward(Cpu, const CrossEntropyBackward& call);
void cross_entropy_backward(Cuda, const CrossEntropyBackward& call);

[[noreturn]] void throw_bad_target(const char* op, std::int64_t target, std::int64_t classes, std::int64_t row,
                                   Where where);

// One row and one element, for both devices.
template <class C> TALLY_HD C negative_log_likelihood(C x, C max, C sum, C weight) {
  return -((x - max) - math::log(sum)) * weight;
}
template <class C> TALLY_HD C cross_entropy_pull(C softmax, bool is_target, C upstream) {
  return (softmax - C(is_target)) * upstream;
}

}  // namespace tally::detail
