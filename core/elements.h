// Elements of any dtype on the CPU as the type that a loop computes in, and back: what does not depend on the loop
// exists once.
#pragma once

#include <cstdint>

#include <tally/core/dtype.h>

namespace tally {

/// to[i] = element i of `from`, which are `step` apart. C is float, double or std::int64_t.
template <class C> using Reader = void (*)(const void* from, std::int64_t step, std::int64_t count, C* to);
template <class C> Reader<C> reader(DType dtype);

/// Element i of `to`, which are `step` apart, = from[i]. C is one of those, or bool.
template <class C> using Writer = void (*)(const C* from, std::int64_t count, void* to, std::int64_t step);
template <class C> Writer<C> writer(DType dtype);

}  // namespace tally
