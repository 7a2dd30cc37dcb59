// Updates of many arrays at once: an update is a struct with constants and a function over one element of each of its
// arrays, which it may change. Written with IEEE operations alone, it gives the same bits on both devices.
//
//   struct AddTo {
//     using Element = float;
//     static constexpr int arrays = 2;
//     TALLY_HD void operator()(float& a, const float& b) const { a = a + b; }
//   };
//
// An update that reads from memory what holds for all elements has ready(), which gives the update that has read it;
// one that may have nothing to do has is_idle().
#pragma once

#include <utility>
#include <vector>

#include <tally/core/device.h>
#include <tally/core/dtype.h>
#include <tally/core/hd.h>
#include <tally/core/parallel.h>
#include <tally/core/tensor.h>
#include <tally/nn/visit_float.h>

namespace tally::detail {

/// The arrays of one tensor and its update.
template <class Update> struct Part {
  typename Update::Element* data[Update::arrays];
  std::int64_t count;
  Update update;
};

template <class Update> TALLY_HD auto ready(const Update& update) {
  if constexpr (requires { update.ready(); })
    return update.ready();
  else
    return update;
}
template <class Update> TALLY_HD bool is_idle(const Update& update) {
  if constexpr (requires { update.is_idle(); })
    return update.is_idle();
  else
    return false;
}

/// A part from dense tensors of one shape and of Update's element type.
template <class Update, class... Tensors>
Part<Update> part_of(const Update& update, const Tensor& first, const Tensors&... others) {
  using T = typename Update::Element;
  return {{first.data<T>(), others.template data<T>()...}, first.numel(), update};
}

template <class Update> void run_parts(Cpu, const std::vector<Part<Update>>& parts) {
  for (const Part<Update>& part : parts)
    parallel_for(part.count, 1 << 14, [&part](std::int64_t begin, std::int64_t end) {
      const auto update = ready(part.update);  // its own, so that constants stay in registers
      if (is_idle(update)) return;
      [&]<int... K>(std::integer_sequence<int, K...>) {
        for (std::int64_t i = begin; i < end; ++i) update(part.data[K][i]...);
      }
      (std::make_integer_sequence<int, Update::arrays>{});
    });
}

/// A launch for many parts at once. Nothing is written once an error has been reported (core/cuda/status.h).
/// Instantiated for the library's updates in nn/cuda/update.cu.
template <class Update> void run_parts(Cuda, const std::vector<Part<Update>>& parts);

}  // namespace tally::detail
