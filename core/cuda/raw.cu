#include <tally/core/cuda/raw.h>

#include <cstring>

#include <tally/core/cuda/elementwise.cuh>

namespace tally::raw {
namespace {

using detail::DeviceInput;
using detail::launch_elementwise;

/// For bytes that are only moved: types of one size share a kernel, and no bit changes.
template <class F> void visit_word(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(TypeTag<std::uint8_t>{});
    case 2:
      return f(TypeTag<std::uint16_t>{});
    case 4:
      return f(TypeTag<std::uint32_t>{});
    default:
      return f(TypeTag<std::uint64_t>{});
  }
}

template <class Word> struct Value {
  Word word;
  TALLY_HD Word operator()() const { return word; }
};

struct Identity {
  template <class C> TALLY_HD C operator()(C x) const { return x; }
};

struct Sum {
  template <class C> TALLY_HD C operator()(C a, C b) const {
    // Integers add unsigned: they wrap.
    if constexpr (std::is_integral_v<C>)
      return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
};

template <class T> T* at(const Tensor& tensor) { return static_cast<T*>(tensor.raw()); }
template <class T> DeviceInput<T> from(const Tensor& tensor) { return {at<T>(tensor), T{}}; }

std::uint64_t bits_of(Number value, DType dtype) {
  return visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = value.is_real() ? convert<T>(value.as<double>()) : convert<T>(value.as<std::int64_t>());
    std::uint64_t bits = 0;
    std::memcpy(&bits, &element, sizeof element);  // little-endian, as every CUDA host is
    return bits;
  });
}

}  // namespace

void fill(Cuda, const Tensor& target, Number value) {
  const Strided<1> walk(target.shape(), {&target.strides()});
  const std::uint64_t bits = bits_of(value, target.dtype());
  visit_word(target.dtype(), [&](auto tag) {
    using Word = typename decltype(tag)::type;
    launch_elementwise("fill", Value<Word>{static_cast<Word>(bits)}, walk, at<Word>(target));
  });
}

void copy(Cuda, const Tensor& target, const Tensor& source) {
  const Strided<2> walk(target.shape(), {&target.strides(), &source.strides()});
  if (target.dtype() == source.dtype()) {
    visit_word(target.dtype(), [&](auto tag) {
      using Word = typename decltype(tag)::type;
      launch_elementwise("copy", Identity{}, walk, at<Word>(target), from<Word>(source));
    });
    return;
  }
  visit(target.dtype(), [&](auto to) {
    visit(source.dtype(), [&](auto as) {
      using To = typename decltype(to)::type;
      using From = typename decltype(as)::type;
      if constexpr (!std::is_same_v<To, From>)
        launch_elementwise("copy", Identity{}, walk, at<To>(target), from<From>(source));
    });
  });
}

void add(Cuda, const Tensor& target, const Tensor& a, const Tensor& b) {
  const Strided<3> walk(target.shape(), {&target.strides(), &a.strides(), &b.strides()});
  visit(target.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch_elementwise("add", Sum{}, walk, at<T>(target), from<T>(a), from<T>(b));
  });
}

}  // namespace tally::raw
