#include <tally/core/raw.h>

#include <tally/core/convert.h>
#include <tally/core/cuda/raw.h>
#include <tally/core/parallel.h>
#include <tally/core/strided.h>

namespace tally::raw {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

template <class T> T* at(const Tensor& tensor) { return static_cast<T*>(tensor.raw()); }

void fill(Cpu, const Tensor& target, Number value) {
  const Strided<1> walk(target.shape(), {&target.strides()});
  visit(target.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = at<T>(target);
    const T element = value.is_real() ? convert<T>(value.as<double>()) : convert<T>(value.as<std::int64_t>());
    const std::int64_t step = walk.inner_stride(0);
    parallel_for(walk.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for_each_run(walk, begin, end, [&](const std::int64_t(&offset)[1], std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) out[offset[0] + i * step] = element;
      });
    });
  });
}

void copy(Cpu, const Tensor& target, const Tensor& source) {
  const Strided<2> walk(target.shape(), {&target.strides(), &source.strides()});
  visit(target.dtype(), [&](auto to) {
    visit(source.dtype(), [&](auto from) {
      using To = typename decltype(to)::type;
      using From = typename decltype(from)::type;
      To* out = at<To>(target);
      const From* in = at<From>(source);
      const std::int64_t to_step = walk.inner_stride(0), from_step = walk.inner_stride(1);
      parallel_for(walk.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
        for_each_run(walk, begin, end, [&](const std::int64_t(&offset)[2], std::int64_t length) {
          To* o = out + offset[0];
          const From* x = in + offset[1];
          if (to_step == 1 && from_step == 1)
            for (std::int64_t i = 0; i < length; ++i) o[i] = convert<To>(x[i]);
          else
            for (std::int64_t i = 0; i < length; ++i) o[i * to_step] = convert<To>(x[i * from_step]);
        });
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
