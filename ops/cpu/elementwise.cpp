#include <tally/ops/cpu/elementwise.h>

#include <algorithm>

#include <tally/core/elements.h>
#include <tally/core/parallel.h>

namespace tally::detail {
namespace {

constexpr std::int64_t kBlock = 512;      // elements; five buffers of doubles fit the L1 cache
constexpr std::int64_t kGrain = 1 << 14;  // elements a thread takes at least

/// What lies at `offset` elements of `dtype`.
const void* at(const void* data, DType dtype, std::int64_t offset) {
  return static_cast<const std::byte*>(data) + offset * static_cast<std::int64_t>(size_of(dtype));
}
void* at(void* data, DType dtype, std::int64_t offset) {
  return static_cast<std::byte*>(data) + offset * static_cast<std::int64_t>(size_of(dtype));
}

/// Elements [begin, begin + count) of one operand of the walk, converted to C.
template <class C, int M>
void gather(const Strided<M>& walk, int operand, const void* data, DType dtype, std::int64_t begin, std::int64_t count,
            C* to) {
  const Reader<C> read = reader<C>(dtype);
  for_each_run(walk, begin, begin + count, [&](const std::int64_t(&offsets)[M], std::int64_t length) {
    read(at(data, dtype, offsets[operand]), walk.inner_stride(operand), length, to);
    to += length;
  });
}

template <class R, int M>
void scatter(const Strided<M>& walk, void* data, DType dtype, std::int64_t begin, std::int64_t count, const R* from) {
  const Writer<R> write = writer<R>(dtype);
  for_each_run(walk, begin, begin + count, [&](const std::int64_t(&offsets)[M], std::int64_t length) {
    write(from, length, at(data, dtype, offsets[0]), walk.inner_stride(0));
    from += length;
  });
}

template <int M> bool is_dense(const Strided<M>& walk, int operand) {
  std::int64_t expected = 1;
  for (int d = walk.rank - 1; d >= 0; expected *= walk.sizes[d--])
    if (walk.strides[operand][d] != expected) return false;
  return true;
}

template <int M> bool is_constant(const Strided<M>& walk, int operand) {
  for (int d = 0; d < walk.rank; ++d)
    if (walk.strides[operand][d] != 0) return false;
  return true;
}

template <class C> C value_as(DType dtype, Number number) {
  return visit(dtype, [&](auto tag) -> C {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<Compute<T>, C>)
      return loop_value<T>(number);
    else
      return {};
  });
}

/// How a block gets one input.
template <class C> struct Source {
  const void* data = nullptr;
  DType dtype = float32;
  bool direct = false;    // dense memory of C, read where it is
  bool constant = false;  // one value for all elements
  C value{};
};

template <class C, class R, std::size_t N> struct Blocks {
  Strided<N + 1> walk;
  Source<C> sources[N];
  void* out;
  DType out_dtype;
  bool out_direct;
  DenseLoop<C, R> loop;
  const void* functor;

  void run(std::int64_t begin, std::int64_t end) const {
    alignas(64) C buffers[N][kBlock];
    alignas(64) R result[kBlock];
    const std::int64_t most = std::min(kBlock, end - begin);
    const C* inputs[N];
    for (std::size_t k = 0; k < N; ++k) {
      inputs[k] = buffers[k];
      if (sources[k].constant) std::fill_n(buffers[k], most, sources[k].value);
    }
    for (std::int64_t i = begin; i < end; i += kBlock) {
      const std::int64_t count = std::min(kBlock, end - i);
      for (std::size_t k = 0; k < N; ++k) {
        const Source<C>& source = sources[k];
        if (source.direct)
          inputs[k] = static_cast<const C*>(source.data) + i;
        else if (!source.constant)
          gather(walk, static_cast<int>(k) + 1, source.data, source.dtype, i, count, buffers[k]);
      }
      R* to = out_direct ? static_cast<R*>(out) + i : result;
      loop(functor, to, inputs, count);
      if (!out_direct) scatter(walk, out, out_dtype, i, count, result);
    }
  }
};

}  // namespace

template <class C, class R, std::size_t N>
void run_blocks(const Tensor& out, const Inputs<N>& inputs, DType dtype, DenseLoop<C, R> loop, const void* functor) {
  Blocks<C, R, N> blocks{walk_of(out, inputs), {}, out.raw(), out.dtype(), false, loop, functor};
  blocks.out_direct = out.dtype() == dtype_of<R>() && is_dense(blocks.walk, 0);
  for (std::size_t k = 0; k < N; ++k) {
    Source<C>& source = blocks.sources[k];
    const int operand = static_cast<int>(k) + 1;
    source.constant = is_constant(blocks.walk, operand);
    if (const Tensor* tensor = inputs[k].tensor) {
      source.data = tensor->raw();
      source.dtype = tensor->dtype();
      source.direct = tensor->dtype() == dtype_of<C>() && is_dense(blocks.walk, operand);
      source.constant = source.constant && !source.direct;
      if (source.constant) gather(blocks.walk, operand, source.data, source.dtype, 0, 1, &source.value);
    } else {
      source.value = value_as<C>(dtype, inputs[k].number);
      source.constant = true;
    }
  }
  parallel_for(blocks.walk.count, kGrain, [&blocks](std::int64_t begin, std::int64_t end) { blocks.run(begin, end); });
}

#define TALLY_RUN_BLOCKS(C, R, N) \
  template void run_blocks<C, R, N>(const Tensor&, const Inputs<N>&, DType, DenseLoop<C, R>, const void*);
#define TALLY_RUN_BLOCKS_OF(C) \
  TALLY_RUN_BLOCKS(C, C, 1)    \
  TALLY_RUN_BLOCKS(C, C, 2)    \
  TALLY_RUN_BLOCKS(C, C, 3)    \
  TALLY_RUN_BLOCKS(C, bool, 1) \
  TALLY_RUN_BLOCKS(C, bool, 2)
TALLY_RUN_BLOCKS_OF(float)
TALLY_RUN_BLOCKS_OF(double)
TALLY_RUN_BLOCKS_OF(std::int64_t)

}  // namespace tally::detail
