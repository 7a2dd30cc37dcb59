// An elementwise op is defined once: a struct with its function and its derivative, for scalars of any type C.
//
//   struct Cube {
//     static constexpr auto name = "cube";
//     template <class C> TALLY_HD C f(C x) const { return x * x * x; }
//     template <class C> TALLY_HD C df(C x) const { return 3 * x * x; }
//   };
//   Tensor y = map(Cube{}, x);
//
// C is float for float32 and the two-byte floats, double for float64, std::int64_t for integers and bool.
//
//   one input:   f(x), and df(x) or, where the result alone says it, df_of_result(y)
//   two inputs:  f(a, b), and da(a, b), db(a, b), the partial derivatives
//
// Optional constants (elementwise_op.h):
//   result               the dtype of the result; Result::real where nothing is said
//   curvature            how the derivative is differentiated again; by default it is not
//   da_reads, db_reads   the inputs that a partial derivative reads: only these are kept for backward
//
// The gradient of an input is the upstream gradient times the derivative, in one pass over memory, summed over the dims
// in which the input was broadcast.
#pragma once

#include <tally/core/math.h>
#include <tally/ops/elementwise_check.h>
#include <tally/ops/elementwise_record.h>
#if defined(__CUDACC__) || defined(TALLY_SIMT)
#include <tally/ops/cuda/elementwise.cuh>
#define TALLY_MAPS_ON_CUDA 1
#endif

namespace tally {
namespace detail {

/// The kind of translation unit: the same map in a .cpp and in a .cu are two functions.
struct HostUnit {};
struct DeviceUnit {};
#if defined(__CUDACC__)
using Unit = DeviceUnit;
#else
using Unit = HostUnit;
#endif

/// Loops instantiated where they are used.
template <class Unit> struct LocalLoops {
  template <class F, std::size_t N>
  static void run(const F& f, const Tensor& out, const Inputs<N>& inputs, DType dtype, const char* name, Where where) {
    if (out.numel() == 0) return;
    if (out.device() == Device::cpu) return elementwise(Cpu{}, f, out, inputs, dtype);
#if defined(TALLY_MAPS_ON_CUDA)
    static_cast<void>(where);
    run_elementwise(name, f, out, inputs, dtype);
#else
    throw_host_only(name, where);
#endif
  }
};

}  // namespace detail

/// op.f(x) for each element. From a .cpp for tensors on the CPU; from a .cu, compiled by nvcc, for both devices.
/// DeviceError for a CUDA tensor in a .cpp.
template <class Op, class Unit = detail::Unit> Tensor map(const Op& op, const Tensor& x, Where where = Where::here()) {
  if constexpr (detail::check_map<Op>())
    return detail::record_map<detail::LocalLoops<Unit>>(op, x, where);
  else
    return x;
}

/// op.f(a, b) for each element of the shape both broadcast to; the dtypes promote.
template <class Op, class Unit = detail::Unit>
Tensor zip(const Op& op, const Operand& a, const Operand& b, Where where = Where::here()) {
  if constexpr (detail::check_zip<Op>())
    return detail::record_zip<detail::LocalLoops<Unit>>(op, op.name, a, b, where);
  else
    return {};
}

}  // namespace tally
