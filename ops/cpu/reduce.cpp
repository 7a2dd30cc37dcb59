#include <tally/ops/cpu/reduce_call.h>

namespace tally {

void reduce(Cpu, const Reduction& op, const ReduceCall& call) {
  std::visit([&](const auto& one) { cpu_loops::run(one, call); }, op);
}

void reduce_backward(Cpu, const Reduction& op, const ReduceBackwardCall& call) {
  std::visit([&](const auto& one) { cpu_loops::run_backward(one, call); }, op);
}

}  // namespace tally
