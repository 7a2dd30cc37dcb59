#include <tally/ops/cpu/isa.h>

#include <atomic>

namespace tally::detail {
namespace {

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa = available_isas().back();
  return isa;
}

}  // namespace

std::vector<Isa> available_isas() {
  std::vector<Isa> isas{Isa::baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back(Isa::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      isas.push_back(Isa::avx512);
  }
#endif
  return isas;
}

Isa isa() { return chosen().load(std::memory_order_relaxed); }
void set_isa(Isa isa) { chosen() = isa; }

}  // namespace tally::detail
