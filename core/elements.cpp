#include <tally/core/elements.h>

#include <algorithm>

#include <tally/core/convert.h>

namespace tally {
namespace {

template <class T, class C> void read(const void* from, std::int64_t step, std::int64_t count, C* to) {
  const T* x = static_cast<const T*>(from);
  if (step == 1)
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<C>(x[i]);
  else if (step == 0)
    std::fill_n(to, count, convert<C>(*x));
  else
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<C>(x[i * step]);
}

template <class T, class C> void write(const C* from, std::int64_t count, void* to, std::int64_t step) {
  T* y = static_cast<T*>(to);
  if (step == 1)
    for (std::int64_t i = 0; i < count; ++i) y[i] = convert<T>(from[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) y[i * step] = convert<T>(from[i]);
}

}  // namespace

template <class C> Reader<C> reader(DType dtype) {
  return visit(dtype, [](auto tag) -> Reader<C> { return read<typename decltype(tag)::type, C>; });
}
template <class C> Writer<C> writer(DType dtype) {
  return visit(dtype, [](auto tag) -> Writer<C> { return write<typename decltype(tag)::type, C>; });
}

template Reader<float> reader(DType);
template Reader<double> reader(DType);
template Reader<std::int64_t> reader(DType);
template Writer<float> writer(DType);
template Writer<double> writer(DType);
template Writer<std::int64_t> writer(DType);
template Writer<bool> writer(DType);

}  // namespace tally
