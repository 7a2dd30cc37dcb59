#include <tally/core/raw.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include <tally/core/convert.h>
#include <tally/core/cuda/raw.h>
#include <tally/core/elements.h>
#include <tally/core/parallel.h>
#include <tally/core/strided.h>

namespace tally::raw {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

template <class T> T* at(const Tensor& tensor) { return static_cast<T*>(tensor.raw()); }

/// f(U{}) for the unsigned integer of `size` bytes.
template <class F> void for_bits(std::size_t size, F&& f) {
  if (size == 8) return f(std::uint64_t{});
  if (size == 4) return f(std::uint32_t{});
  if (size == 2) return f(std::uint16_t{});
  return f(std::uint8_t{});
}

void fill(Cpu, const Tensor& target, Number value) {
  const Strided<1> walk(target.shape(), {&target.strides()});
  const std::int64_t step = walk.inner_stride(0);
  std::byte element[8];
  visit(target.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T one = value.is_real() ? convert<T>(value.as<double>()) : convert<T>(value.as<std::int64_t>());
    std::memcpy(element, &one, sizeof one);
  });
  for_bits(size_of(target.dtype()), [&](auto bits) {
    std::memcpy(&bits, element, sizeof bits);
    auto* const out = static_cast<decltype(bits)*>(target.raw());
    parallel_for(walk.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for_each_run(walk, begin, end, [&](const std::int64_t(&offset)[1], std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) out[offset[0] + i * step] = bits;
      });
    });
  });
}

/// Copies run after run: `count` elements, from_step and to_step apart.
class Copy {
 public:
  virtual ~Copy() = default;
  virtual void run(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                   std::int64_t count) const = 0;
};

template <class Bits> class SameType final : public Copy {
  void run(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
           std::int64_t count) const override {
    const Bits* x = reinterpret_cast<const Bits*>(from);
    Bits* y = reinterpret_cast<Bits*>(to);
    if (from_step == 1 && to_step == 1)
      std::memmove(y, x, static_cast<std::size_t>(count) * sizeof(Bits));
    else
      for (std::int64_t i = 0; i < count; ++i) y[i * to_step] = x[i * from_step];
  }
};

/// By way of C, which one of the two types is, or which holds the source's.
template <class C> class Converted final : public Copy {
 public:
  Converted(DType to, DType from) : to_(to), from_(from), read_(reader<C>(from)), write_(writer<C>(to)) {}

 private:
  void run(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
           std::int64_t count) const override {
    constexpr DType own = dtype_of<C>();
    if (from_ == own && from_step == 1) return write_(reinterpret_cast<const C*>(from), count, to, to_step);
    if (to_ == own && to_step == 1) return read_(from, from_step, count, reinterpret_cast<C*>(to));
    alignas(64) C buffer[512];
    const auto bytes = [](DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); };
    for (std::int64_t length; count > 0; count -= length) {
      length = std::min<std::int64_t>(count, std::size(buffer));
      read_(from, from_step, length, buffer);
      write_(buffer, length, to, to_step);
      from += length * from_step * bytes(from_);
      to += length * to_step * bytes(to_);
    }
  }

  DType to_, from_;
  Reader<C> read_;
  Writer<C> write_;
};

/// f(Copy) between the two types.
template <class F> void with_copy(DType to, DType from, F&& f) {
  const auto either = [&](DType dtype) { return to == dtype || from == dtype; };
  if (to == from) return for_bits(size_of(to), [&](auto bits) { f(SameType<decltype(bits)>()); });
  if (either(float64)) return f(Converted<double>(to, from));
  if (either(float32)) return f(Converted<float>(to, from));
  if (either(int64) || !is_floating(from)) return f(Converted<std::int64_t>(to, from));
  f(Converted<float>(to, from));
}

void copy(Cpu, const Tensor& target, const Tensor& source) {
  const Strided<2> walk(target.shape(), {&target.strides(), &source.strides()});
  const auto to_size = static_cast<std::int64_t>(size_of(target.dtype()));
  const auto from_size = static_cast<std::int64_t>(size_of(source.dtype()));
  with_copy(target.dtype(), source.dtype(), [&](const Copy& one) {
    parallel_for(walk.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for_each_run(walk, begin, end, [&](const std::int64_t(&offset)[2], std::int64_t length) {
        one.run(at<std::byte>(source) + offset[1] * from_size, walk.inner_stride(1),
                at<std::byte>(target) + offset[0] * to_size, walk.inner_stride(0), length);
      });
    });
  });
}

template <class T> T plus(T a, T b) {
  // Integers add unsigned: they wrap.
  if constexpr (std::is_same_v<Compute<T>, std::int64_t>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return convert<T>(convert<Compute<T>>(a) + convert<Compute<T>>(b));
}

void add(Cpu, const Tensor& target, const Tensor& a, const Tensor& b) {
  const Strided<3> walk(target.shape(), {&target.strides(), &a.strides(), &b.strides()});
  visit(target.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = at<T>(target);
    const T *x = at<T>(a), *y = at<T>(b);
    const std::int64_t so = walk.inner_stride(0), sx = walk.inner_stride(1), sy = walk.inner_stride(2);
    parallel_for(walk.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for_each_run(walk, begin, end, [&](const std::int64_t(&offset)[3], std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i)
          out[offset[0] + i * so] = plus(x[offset[1] + i * sx], y[offset[2] + i * sy]);
      });
    });
  });
}

Tensor dense_on_host(const Tensor& tensor) {
  const Tensor dense = tensor.is_contiguous() ? tensor : [&] {
    Tensor copy_of = empty(tensor.shape(), {.dtype = tensor.dtype(), .device = tensor.device()});
    raw::copy(copy_of, tensor);
    return copy_of;
  }();
  if (dense.device() == Device::cpu) return dense;
  Tensor host = empty(dense.shape(), {.dtype = dense.dtype()});
  if constexpr (kHasCuda) gpu::copy_to_host(host.raw(), dense.raw(), dense.numel() * size_of(dense.dtype()));
  return host;
}

}  // namespace

void fill(const Tensor& target, Number value) {
  if (target.numel() == 0) return;
  on(target.device(), [&](auto backend) { fill(backend, target, value); });
}

void copy(const Tensor& target, const Tensor& source) {
  if (target.numel() == 0) return;
  if (target.device() == source.device())
    return on(target.device(), [&](auto backend) { copy(backend, target, source); });
  if (target.device() == Device::cpu) return copy(Cpu{}, target, dense_on_host(source));
  if constexpr (kHasCuda) {
    // The conversion runs on the host, so that the bytes that travel are the target's.
    Tensor host = empty(source.shape(), {.dtype = target.dtype()});
    copy(Cpu{}, host, source);
    const bool dense = target.is_contiguous();
    const Tensor landing = dense ? target : empty(target.shape(), {.dtype = target.dtype(), .device = target.device()});
    gpu::copy_to_device(landing.raw(), host.raw(), host.numel() * size_of(host.dtype()));
    if (!dense) copy(Cuda{}, target, landing);
  }
}

void add(const Tensor& target, const Tensor& a, const Tensor& b) {
  if (target.numel() == 0) return;
  on(target.device(), [&](auto backend) { add(backend, target, a, b); });
}

}  // namespace tally::raw
