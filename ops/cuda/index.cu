#include <tally/core/convert.h>
#include <tally/core/cuda/kernel.h>
#include <tally/core/cuda/status.h>
#include <tally/core/strided.h>
#include <tally/ops/cpu/index.h>
#include <tally/ops/cuda/index.h>
#include <tally/ops/cuda/index_places.h>
#include <tally/ops/index_order.h>

namespace tally::detail {
namespace {

constexpr int kThreads = 256;

gpu::Grid grid_for(std::int64_t threads, const char* name) {
  return {{(threads + kThreads - 1) / kThreads}, {kThreads}, 0, name};
}

__device__ std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

void raise(const char* op, Where where, const gpu::Report& report) {
  throw_bad_index(op, report.value, report.limit, report.index, where);
}

const std::int64_t* positions_of(const Tensor& index) { return static_cast<const std::int64_t*>(index.raw()); }

// Picking moves bits: Word is an unsigned type of the element's size.
template <class Word>
__global__ void gather_kernel(Word* y, const Word* x, const std::int64_t* index, Strided<3> walk, std::int64_t step,
                              std::int64_t size, gpu::Status status) {
  const std::int64_t i = thread_index();
  if (i >= walk.count) return;
  std::int64_t at[3];
  walk.offsets(i, at);
  const std::int64_t position = index[at[2]];
  const bool valid = position >= 0 && position < size;
  if (!valid) gpu::report(status, position, size, at[2]);
  y[at[0]] = valid ? x[at[1] + position * step] : Word(0);
}

template <class Word>
void gather_words(const Tensor& y, const Tensor& x, const Tensor& index, const Strided<3>& walk, std::int64_t step,
                  std::int64_t size, gpu::Status status) {
  gpu::launch(gather_kernel<Word>, grid_for(walk.count, "gather"), static_cast<Word*>(y.raw()),
              static_cast<const Word*>(x.raw()), positions_of(index), walk, step, size, status);
}

// Elements of [outer, count, inner] that add to [outer, size, inner].
struct Extents {
  std::int64_t outer = 1, size = 1, count = 1, inner = 1;
};

// Thread (o, k, i): if the k-th sorted place is the first of its slot, all places of the slot are summed.
template <class T> __global__ void add_kernel(T* out, const T* grad, const Place* places, Extents e) {
  using C = Compute<T>;
  const std::int64_t thread = thread_index();
  if (thread >= e.outer * e.count * e.inner) return;
  const std::int64_t i = thread % e.inner, k = thread / e.inner % e.count, o = thread / e.inner / e.count;
  const std::int64_t slot = places[k].slot;
  if (slot >= e.size || (k > 0 && places[k - 1].slot == slot)) return;
  std::int64_t end = k + 1, reach = 1;  // the end of the slot's places, by doubling steps and then halving ones
  while (end + reach <= e.count && places[end + reach - 1].slot == slot) end += reach, reach *= 2;
  for (; reach > 0; reach /= 2)
    if (end + reach <= e.count && places[end + reach - 1].slot == slot) end += reach;
  out[(o * e.size + slot) * e.inner + i] = convert<T>(sum_in_order<C>(
      end - k, [&](std::int64_t n) { return convert<C>(grad[(o * e.count + places[k + n].source) * e.inner + i]); }));
}

__global__ void rows_kernel(Place* places, const std::int64_t* index, std::int64_t count, std::int64_t size) {
  const std::int64_t p = thread_index();
  if (p < count) places[p] = {index[p] >= 0 && index[p] < size ? index[p] : size, p};
}

// Every element is a place of its own and its slot an element of the whole result.
__global__ void elements_kernel(Place* places, const std::int64_t* index, Extents e) {
  const std::int64_t p = thread_index(), slots = e.outer * e.size * e.inner;
  if (p >= e.outer * e.count * e.inner) return;
  const std::int64_t i = p % e.inner, o = p / e.inner / e.count, j = index[p];
  places[p] = {j >= 0 && j < e.size ? (o * e.size + j) * e.inner + i : slots, p};
}

template <class T>
__global__ void mark_kernel(T* y, const std::int64_t* labels, std::int64_t count, std::int64_t classes, T one,
                            gpu::Status status) {
  const std::int64_t i = thread_index();
  if (i >= count) return;
  const std::int64_t label = labels[i];
  if (label < 0 || label >= classes) return gpu::report(status, label, classes, i);
  y[i * classes + label] = one;
}

}  // namespace

void gather(Cuda, const char* op, const Tensor& y, const Tensor& x, const Tensor& index, int dim, Where where) {
  Shape x_strides = x.strides();
  const std::int64_t step = x_strides[dim], size = x.shape()[dim];
  x_strides[dim] = 0;
  const Strided<3> walk(y.shape(), {&y.strides(), &x_strides, &index.strides()});
  const gpu::Status status = gpu::watch(op, where, raise);
  switch (size_of(x.dtype())) {
    case 1:
      return gather_words<std::uint8_t>(y, x, index, walk, step, size, status);
    case 2:
      return gather_words<std::uint16_t>(y, x, index, walk, step, size, status);
    case 4:
      return gather_words<std::uint32_t>(y, x, index, walk, step, size, status);
    default:
      return gather_words<std::uint64_t>(y, x, index, walk, step, size, status);
  }
}

void scatter_add(Cuda, const Tensor& out, const Tensor& grad, const Tensor& index, int dim) {
  if (grad.numel() == 0 || out.numel() == 0) return;
  Extents e;
  e.size = out.shape()[dim];
  e.count = grad.shape()[dim];
  for (int d = 0; d < dim; ++d) e.outer *= out.shape()[d];
  for (int d = dim + 1; d < out.dim(); ++d) e.inner *= out.shape()[d];

  const bool rows = !index.is_contiguous();  // one list of positions for all
  const std::int64_t count = rows ? e.count : grad.numel(), slots = rows ? e.size : out.numel();
  PlaceList places(count);
  if (rows)
    gpu::launch(rows_kernel, grid_for(count, "scatter_add"), places.data(), positions_of(index), count, slots);
  else
    gpu::launch(elements_kernel, grid_for(count, "scatter_add"), places.data(), positions_of(index), e);
  places.sort_by_slot(slots);
  if (!rows) e = {1, slots, count, 1};
  visit(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>)
      gpu::launch(add_kernel<T>, grid_for(e.outer * e.count * e.inner, "scatter_add"), static_cast<T*>(out.raw()),
                  static_cast<const T*>(grad.raw()), places.data(), e);
  });
}

void mark(Cuda, const char* op, const Tensor& y, const Tensor& labels, Where where) {
  const gpu::Status status = gpu::watch(op, where, raise);
  visit(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    gpu::launch(mark_kernel<T>, grid_for(labels.numel(), "one_hot"), static_cast<T*>(y.raw()), positions_of(labels),
                labels.numel(), y.size(-1), convert<T>(1), status);
  });
}

}  // namespace tally::detail
