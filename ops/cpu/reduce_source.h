// The elements that a reduction on the CPU reads.
#pragma once

#include <type_traits>

#include <tally/core/elements.h>
#include <tally/core/tensor.h>

namespace tally::cpu_loops {

/// Elements of any type, read as C: the loops exist once for each C, not for each element type.
template <class C> struct Source {
  const std::byte* data;
  std::int64_t size;  // bytes an element
  Reader<C> read;
  bool direct;  // the elements are C

  Source(const void* from, DType dtype)
      : data(static_cast<const std::byte*>(from)),
        size(static_cast<std::int64_t>(size_of(dtype))),
        read(reader<C>(dtype)),
        direct(dtype == dtype_of<C>()) {}
  explicit Source(const Tensor& x) : Source(x.raw(), x.dtype()) {}
  /// The element `offset` elements on.
  Source at(std::int64_t offset) const {
    Source moved = *this;
    moved.data += offset * size;
    return moved;
  }
  const C* elements() const { return reinterpret_cast<const C*>(data); }
  C first() const {
    C value;
    read(data, 0, 1, &value);
    return value;
  }
};

}  // namespace tally::cpu_loops
