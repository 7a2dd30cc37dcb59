#include <tally/ops/cpu/index.h>

#include <algorithm>

#include <tally/core/convert.h>
#include <tally/core/error.h>
#include <tally/core/parallel.h>
#include <tally/core/strided.h>
#include <tally/ops/index_order.h>

namespace tally::detail {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // elements

const std::int64_t* positions_of(const Tensor& index) { return static_cast<const std::int64_t*>(index.raw()); }

// f(TypeTag<word>{}) for an unsigned type of the dtype's size: picking moves bits and needs no more.
template <class F> void visit_size(DType dtype, F&& f) {
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

// All positions, before anything is written.
void check(const char* op, const Tensor& index, std::int64_t size, Where where) {
  const Strided<1> walk(index.shape(), {&index.strides()});
  for_each_run(walk, 0, walk.count, [&](const std::int64_t(&offset)[1], std::int64_t length) {
    const std::int64_t step = walk.inner_stride(0);
    for (std::int64_t i = 0; i < (step ? length : 1); ++i) {
      const std::int64_t place = offset[0] + i * step, value = positions_of(index)[place];
      if (value < 0 || value >= size) throw_bad_index(op, value, size, place, where);
    }
  });
}

// The places that hold each position, in order: a counting sort.
class Buckets {
 public:
  void fill(const std::int64_t* index, std::int64_t count, std::int64_t stride, std::int64_t size) {
    begin_.assign(static_cast<std::size_t>(size) + 1, 0);
    places_.resize(static_cast<std::size_t>(count));
    for (std::int64_t p = 0; p < count; ++p) ++begin_[static_cast<std::size_t>(index[p * stride])];
    std::int64_t total = 0;
    for (std::int64_t& begin : begin_) total += std::exchange(begin, total);
    for (std::int64_t p = 0; p < count; ++p)
      places_[static_cast<std::size_t>(begin_[static_cast<std::size_t>(index[p * stride])]++)] = p;
    std::move_backward(begin_.begin(), begin_.end() - 1, begin_.end());  // each had moved on to the next one's begin
    begin_[0] = 0;
  }
  std::int64_t count(std::int64_t j) const { return begin(j + 1) - begin(j); }
  const std::int64_t* places(std::int64_t j) const { return places_.data() + begin(j); }

 private:
  std::int64_t begin(std::int64_t j) const { return begin_[static_cast<std::size_t>(j)]; }
  std::vector<std::int64_t> begin_, places_;
};

// Neighbours that are summed at once, as the compiler likes it.
template <class C> struct Block {
  static constexpr int kSize = 16;
  C values[kSize];
  friend Block operator+(const Block& a, const Block& b) {
    Block sum;
    for (int i = 0; i < kSize; ++i) sum.values[i] = a.values[i] + b.values[i];
    return sum;
  }
};

struct Extents {
  Extents(const Shape& out, const Shape& grad, int dim) : size(out[dim]), count(grad[dim]) {
    for (int i = 0; i < dim; ++i) outer *= out[i];
    for (int i = dim + 1; i < out.size(); ++i) inner *= out[i];
  }
  std::int64_t outer = 1, size, count, inner = 1;
};

// One list of positions for all: a whole row of `inner` elements per position.
template <class T> void add_rows(T* out, const T* grad, const std::int64_t* index, const Extents& e) {
  using C = Compute<T>;
  Buckets buckets;
  buckets.fill(index, e.count, 1, e.size);
  const std::int64_t work = std::max<std::int64_t>(e.inner * e.count / e.size, 1);
  parallel_for(e.outer * e.size, kGrain / work + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t o = row / e.size, n = buckets.count(row % e.size);
      if (n == 0) continue;
      const std::int64_t* places = buckets.places(row % e.size);
      for (std::int64_t i = 0; i < e.inner; i += Block<C>::kSize) {
        const std::int64_t width = std::min<std::int64_t>(Block<C>::kSize, e.inner - i);
        const Block<C> sum = sum_in_order<Block<C>>(n, [&](std::int64_t k) {
          const T* from = grad + (o * e.count + places[k]) * e.inner + i;
          Block<C> block{};
          for (std::int64_t w = 0; w < width; ++w) block.values[w] = convert<C>(from[w]);
          return block;
        });
        for (std::int64_t w = 0; w < width; ++w) out[row * e.inner + i + w] = convert<T>(sum.values[w]);
      }
    }
  });
}

// A list of positions for each line along the dim.
template <class T> void add_lines(T* out, const T* grad, const std::int64_t* index, const Extents& e) {
  using C = Compute<T>;
  parallel_for(e.outer * e.inner, kGrain / (e.count + e.size) + 1, [&](std::int64_t begin, std::int64_t end) {
    Buckets buckets;
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t o = line / e.inner, i = line % e.inner, from = o * e.count * e.inner + i;
      buckets.fill(index + from, e.count, e.inner, e.size);
      for (std::int64_t j = 0; j < e.size; ++j) {
        const std::int64_t n = buckets.count(j), *places = buckets.places(j);
        if (n == 0) continue;
        out[(o * e.size + j) * e.inner + i] = convert<T>(
            sum_in_order<C>(n, [&](std::int64_t k) { return convert<C>(grad[from + places[k] * e.inner]); }));
      }
    }
  });
}

}  // namespace

void throw_bad_index(const char* op, std::int64_t value, std::int64_t size, std::int64_t place, Where where) {
  throw IndexError(op,
                   "index " + std::to_string(value) + " at place " + std::to_string(place) +
                       " is out of range for a size of " + std::to_string(size) +
                       (size ? " (valid: 0 to " + std::to_string(size - 1) + ")" : " (none is valid)"),
                   where);
}

void gather(Cpu, const char* op, const Tensor& y, const Tensor& x, const Tensor& index, int dim, Where where) {
  check(op, index, x.shape()[dim], where);
  Shape x_strides = x.strides();
  const std::int64_t step = std::exchange(x_strides[dim], 0);
  const Strided<3> walk(y.shape(), {&y.strides(), &x_strides, &index.strides()});
  const std::int64_t y_step = walk.inner_stride(0), x_step = walk.inner_stride(1), index_step = walk.inner_stride(2);
  visit_size(x.dtype(), [&](auto tag) {
    using Word = typename decltype(tag)::type;
    parallel_for(walk.count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for_each_run(walk, begin, end, [&](const std::int64_t(&offset)[3], std::int64_t length) {
        Word* to = static_cast<Word*>(y.raw()) + offset[0];
        const Word* from = static_cast<const Word*>(x.raw()) + offset[1];
        const std::int64_t* at = positions_of(index) + offset[2];
        if (index_step == 0) {
          from += *at * step;
          for (std::int64_t i = 0; i < length; ++i) to[i * y_step] = from[i * x_step];
        } else {
          for (std::int64_t i = 0; i < length; ++i) to[i * y_step] = from[i * x_step + at[i * index_step] * step];
        }
      });
    });
  });
}

void scatter_add(Cpu, const Tensor& out, const Tensor& grad, const Tensor& index, int dim) {
  const Extents extents(out.shape(), grad.shape(), dim);
  if (grad.numel() == 0) return;
  visit(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) {
      T* to = static_cast<T*>(out.raw());
      const T* from = static_cast<const T*>(grad.raw());
      if (index.is_contiguous())
        add_lines(to, from, positions_of(index), extents);
      else
        add_rows(to, from, positions_of(index), extents);
    }
  });
}

void mark(Cpu, const char* op, const Tensor& y, const Tensor& labels, Where where) {
  const std::int64_t classes = y.size(-1);
  check(op, labels, classes, where);
  visit(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* row = static_cast<T*>(y.raw());
    for (std::int64_t i = 0; i < labels.numel(); ++i, row += classes) row[positions_of(labels)[i]] = convert<T>(1);
  });
}

}  // namespace tally::detail
