#include <algorithm>
#include <bit>
#include <vector>

#include <tally/core/convert.h>
#include <tally/core/parallel.h>
#include <tally/ops/prod_gradient.h>
#include <tally/ops/reduce_backend.h>

namespace tally {
namespace {

using namespace prod_gradient;

template <class C> void sweep_up(std::vector<Factors<C>>& heap, std::int64_t leaves, std::int64_t used) {
  for (std::int64_t level = leaves / 2, below = 1; level > 0; level /= 2, below *= 2)
    for (std::int64_t i = level; i < 2 * level && (i - level) * 2 * below < used; ++i)
      up(heap.data(), i, has_right(i, level, below, used));
}

template <class C> void sweep_down(std::vector<Factors<C>>& heap, std::int64_t leaves, std::int64_t used) {
  for (std::int64_t level = 1, below = leaves / 2; level < leaves; level *= 2, below /= 2)
    for (std::int64_t i = level; i < 2 * level && (i - level) * 2 * below < used; ++i)
      down(heap.data(), i, has_right(i, level, below, used));
}

template <class T> struct List {
  using C = Compute<T>;
  const Strided<2>& reduced;
  const T* x;
  T* gx;
  C grad;

  std::int64_t tiles() const { return (reduced.count + kTile - 1) / kTile; }
  int count(std::int64_t tile) const {
    return static_cast<int>(std::min<std::int64_t>(kTile, reduced.count - tile * kTile));
  }

  // f(places in x and gx) for the elements of a tile, in order.
  template <class F> void each(std::int64_t tile, F f) const {
    int i = 0;
    for_each_run(reduced, tile * kTile, tile * kTile + count(tile),
                 [&](const std::int64_t(&at)[2], std::int64_t length) {
                   for (std::int64_t k = 0; k < length; ++k, ++i)
                     f(i, at[0] + k * reduced.inner_stride(0), at[1] + k * reduced.inner_stride(1));
                 });
  }

  // The heap over the lanes of a tile, whose elements are left in `lanes`.
  std::vector<Factors<C>> lanes_of(std::int64_t tile, C (&lanes)[kLanes][kPerLane]) const {
    each(tile, [&](int i, std::int64_t from, std::int64_t) { lanes[i % kLanes][i / kLanes] = convert<C>(x[from]); });
    std::vector<Factors<C>> heap(2 * kLanes);
    for (int l = 0; l < std::min(count(tile), kLanes); ++l)
      heap[static_cast<std::size_t>(kLanes + l)] = of_lane(lanes[l], (count(tile) - l + kLanes - 1) / kLanes);
    sweep_up(heap, kLanes, count(tile));
    return heap;
  }

  Factors<C> product(std::int64_t tile) const {
    C lanes[kLanes][kPerLane];
    return lanes_of(tile, lanes)[1];
  }

  void gradient(std::int64_t tile, Factors<C> outside) const {
    C lanes[kLanes][kPerLane];
    std::vector<Factors<C>> heap = lanes_of(tile, lanes);
    heap[1] = outside;
    sweep_down(heap, kLanes, std::min(count(tile), kLanes));
    for (int l = 0; l < std::min(count(tile), kLanes); ++l)
      sweep_lane(lanes[l], (count(tile) - l + kLanes - 1) / kLanes, heap[static_cast<std::size_t>(kLanes + l)], grad);
    each(tile, [&](int i, std::int64_t, std::int64_t to) { gx[to] = convert<T>(lanes[i % kLanes][i / kLanes]); });
  }

  void run() const {
    if (tiles() == 1) return gradient(0, one<C>());
    const std::int64_t leaves = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(tiles())));
    std::vector<Factors<C>> heap(static_cast<std::size_t>(2 * leaves));
    const auto leaf = [&](std::int64_t tile) -> Factors<C>& { return heap[static_cast<std::size_t>(leaves + tile)]; };
    const auto each_tile = [&](auto f) {
      parallel_for(tiles(), 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t tile = begin; tile < end; ++tile) f(tile);
      });
    };
    each_tile([&](std::int64_t tile) { leaf(tile) = product(tile); });
    sweep_up(heap, leaves, tiles());
    heap[1] = one<C>();
    sweep_down(heap, leaves, tiles());
    each_tile([&](std::int64_t tile) { gradient(tile, leaf(tile)); });
  }
};

}  // namespace

void prod_backward(Cpu, const ReduceBackwardCall& call, const Lists&) {
  if (call.gx.numel() == 0) return;
  const FloatGuard guard;  // for what is not the threads' work
  const Places places = prod_gradient::places(call.walk);
  visit(call.gx.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_float_type<T>) {
      const T* x = static_cast<const T*>(call.x.raw());
      const T* grad = static_cast<const T*>(call.grad.raw());
      T* gx = static_cast<T*>(call.gx.raw());
      const auto lists = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin; o < end; ++o) {
          std::int64_t at[2];
          places.kept.offsets(o, at);
          List<T>{places.reduced, x + at[0], gx + at[1], convert<Compute<T>>(grad[o])}.run();
        }
      };
      // Many lists go to the threads, of few lists their tiles.
      if (places.outputs() < num_threads())
        lists(0, places.outputs());
      else
        parallel_for(places.outputs(), std::max<std::int64_t>(1, 4096 / places.length()), lists);
    }
  });
}

}  // namespace tally
