// How the library's own ops reach their loops: the CPU's are instantiated where the op is, the GPU's stand in
// ops/cuda and are chosen by variant.
#pragma once

#include <tally/ops/cpu/isa_loops.h>
#include <tally/ops/cuda/elementwise.h>
#include <tally/ops/elementwise_record.h>

namespace tally::detail {

struct __attribute__((visibility("hidden"))) LibraryLoops {  // and so is what is made with it
  template <class F, std::size_t N>
  static void run(const F& f, const Tensor& out, const Inputs<N>& inputs, DType dtype, const char*, Where) {
    if (out.numel() == 0) return;
    on(out.device(), [&](auto backend) {
      if constexpr (std::is_same_v<decltype(backend), Cpu>)
        elementwise<IsaLoops>(backend, f, out, inputs, dtype);
      else
        elementwise(backend, f, out, inputs, dtype);
    });
  }
};

}  // namespace tally::detail
