// Gradient clipping, in place. Parameters without a gradient are passed over. All gradients are of one dtype and on one
// device; nothing waits for the device.
#pragma once

#include <tally/nn/module.h>

namespace tally::nn {

/// What a norm that is not finite does; the gradients stay as they are either way.
enum class NonFinite : unsigned char {
  raise,  // ValueError that names the first offending parameter; on CUDA at the next read, and optimizers do nothing
          // until then
  skip    // nothing: the caller sees it in the returned norm
};

/// Clipping by the global norm (Pascanu, Mikolov, Bengio: On the difficulty of training recurrent neural networks, ICML
/// 2013). The norm of all gradients taken together, before clipping, as a 0-d tensor on their device; 0 (on the CPU)
/// where there is none. Above `max_norm` each gradient is multiplied by max_norm / norm; otherwise not a bit changes.
///
/// The norm is that of one list in the order of ops/reduction.h within each tensor; the tensors' accumulators combine
/// by the same tree over the list of parameters, where absent gradients keep their place. It neither overflows nor
/// underflows in between. ValueError unless max_norm >= 0 and the order of the norm is above 0.
Tensor clip_grad_norm_(const NamedTensors& parameters, double max_norm, double norm_type = 2,
                       NonFinite non_finite = NonFinite::raise, Where where = Where::here());

/// Each gradient element cut to [-limit, limit]; NaN stays.
void clip_grad_value_(const NamedTensors& parameters, double limit, Where where = Where::here());

}  // namespace tally::nn
