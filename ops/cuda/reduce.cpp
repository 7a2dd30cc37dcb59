#include <tally/ops/cuda/reduce.h>

#include <tally/ops/reduce_backend.h>

namespace tally {
namespace {

template <class T> T* pointer(const Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.raw()) : nullptr;
}

// Kernels read bool as the byte it is.
template <class T> using Element = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class F> void dispatch(const Reduction& op, DType dtype, F&& f) {
  std::visit(
      [&](const auto& one) {
        visit(dtype, [&](auto tag) {
          using T = typename decltype(tag)::type;
          if constexpr (op_accepts<std::decay_t<decltype(one)>, T>()) f(one, TypeTag<Element<T>>{});
        });
      },
      op);
}

}  // namespace

void reduce(Cuda, const Reduction& op, const ReduceCall& call) {
  dispatch(op, call.x.dtype(), [&](const auto& one, auto tag) {
    using Op = std::decay_t<decltype(one)>;
    using T = typename decltype(tag)::type;
    using Out = Results<Op, T>;
    cuda_loops::reduce<Op, T>(one, call.lists, pointer<const T>(call.x),
                              {pointer<typename Out::First>(call.first), pointer<typename Out::Second>(call.second),
                               pointer<typename Out::Acc>(call.accumulators)});
  });
}

void reduce_backward(Cuda, const Reduction& op, const ReduceBackwardCall& call) {
  dispatch(op, call.gx.dtype(), [&](const auto& one, auto tag) {
    using Op = std::decay_t<decltype(one)>;
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    if constexpr (is_float_type<T> && Slope<Op, C>::exists)
      cuda_loops::reduce_backward<Op, T>(
          one, call.walk, call.length, pointer<const T>(call.x), pointer<const T>(call.grad),
          pointer<const typename Op::template Acc<C>>(call.accumulators), pointer<T>(call.gx));
  });
}

}  // namespace tally
