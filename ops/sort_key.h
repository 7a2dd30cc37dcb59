// Unsigned keys that order as the elements do, and what the two devices are asked for.
#pragma once

#include <tally/core/convert.h>
#include <tally/core/math.h>
#include <tally/core/tensor.h>
#include <tally/ops/sort.h>

namespace tally::detail {

/// The elements of types up to 4 bytes have keys of 32 bits.
template <class T> using SortKey = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

template <class T> TALLY_HD SortKey<T> sort_key(T element, Order order) {
  using Key = SortKey<T>;
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  Key key;
  if constexpr (is_float_type<T>) {
    const Compute<T> x = convert<Compute<T>>(element);
    const Key bits = math::to_bits(x == 0 ? Compute<T>(0) : x);
    key = math::isnan(x) ? ~Key{0} : bits & sign ? ~bits : bits | sign;
  } else {
    key = static_cast<Key>(static_cast<std::int64_t>(element)) ^ sign;
  }
  return order == Order::ascending ? key : ~key;
}

/// positions[l, k] = the place in row l of x of its k-th element. Both dense, [lists, length], not empty.
void argsort(Cpu, const Tensor& positions, const Tensor& x, Order order);
void argsort(Cuda, const Tensor& positions, const Tensor& x, Order order);

}  // namespace tally::detail
