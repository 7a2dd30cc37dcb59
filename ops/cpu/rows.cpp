// Ops on rows (ops/row_ops.h): a row is reduced and then mapped while it is in the cache.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/ops/cpu/isa_loops.h>
#include <tally/ops/cpu/reduce_walk.h>
#include <tally/ops/row_backend.h>

namespace tally {
namespace {

using namespace cpu_loops;

/// The last step, over a row, its weights and biases.
template <class Op, class C> struct Map {
  static constexpr bool on_integers = false;
  Op op;
  typename Op::template Row<C> row;
  C operator()(C x, C weight, C bias) const {
    const C in[1] = {x};
    return op.template map<C>(in, row, weight, bias);
  }
};

/// map_row(op, row, x and weights and biases, n, out).
template <class Op, class C> auto row_map() {
  using Row = typename Op::template Row<C>;
  using Inputs = std::array<const C*, 3>;
  if constexpr (std::is_same_v<Op, rows::Softmax>)
    return [shares = detail::tile_kernels(TileKind::exponentials, C()).shares](
               const Op&, const Row& row, const Inputs& inputs, std::int64_t n, C* out) {
      shares(inputs[0], n, row.max, row.sum, out);
    };
  else
    return [loop = detail::IsaLoops::best<Map<Op, C>, C, C, 3>()](const Op& op, const Row& row, const Inputs& inputs,
                                                                  std::int64_t n, C* out) {
      const Map<Op, C> map{op, row};
      loop(&map, out, inputs.data(), n);
    };
}

/// The accumulators of `count` rows, `step` apart.
template <class C, class Acc>
void reduce_rows(const OpLoops<C>& loops, const C* x, std::int64_t step, std::int64_t count, std::int64_t n, Acc* out) {
  if (n <= kTile) return loops.tiles(loops.arithmetic, {x, step, count, static_cast<int>(n), x, step, 0}, out, nullptr);
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  for (std::int64_t r = 0; r < count; ++r, x += step) {
    TileRun<C> run(loops, tiles, x[0]);
    run.push_dense(x, n, 0, tiles);
    std::memcpy(&out[r], run.finish(), sizeof(Acc));
  }
}

template <class Op, class C> void map_rows(const Op& op, const RowCall& call) {
  using Reduction = typename Op::Reduction;
  using Acc = typename Reduction::template Acc<C>;
  const Reduction reduction;
  const OpLoops<C> loops = loops_of<Reduction, C>(reduction);
  const auto map_row = row_map<Op, C>();
  const std::int64_t rows = call.shape.rows, n = call.shape.n;
  const Source<C> x(call.inputs[0]);
  const Writer<C> write = writer<C>(call.out.dtype());
  const std::int64_t x_step = row_step(call.inputs[0], call.shape);
  const auto column = [](const Tensor& of) { return of.defined() ? static_cast<const C*>(of.raw()) : nullptr; };
  const C *const weight = column(call.weight), *const bias = column(call.bias);
  // Short rows end in one tree together; so many that they are still in the first cache when they are mapped.
  const std::int64_t together = n > 256 ? 1 : std::min<std::int64_t>(4096 / n, 256);

  struct Group {
    std::int64_t first, count, step;
    const C* from;
    std::vector<C> converted;
    std::vector<Acc> accumulators;
  };
  const auto reduce = [&](Group& group, std::int64_t number) {
    const std::int64_t first = number * together, count = std::min(together, rows - first);
    group.first = first;
    group.count = count;
    group.step = x_step;
    group.from = x.at(first * x_step).elements();
    if (!x.direct) {
      group.converted.resize(static_cast<std::size_t>(n * together));
      C* const to = group.converted.data();
      for (std::int64_t r = 0; r < count; ++r) x.read(x.at((first + r) * x_step).data, 1, n, to + r * n);
      group.from = to;
      group.step = n;
    }
    group.accumulators.resize(static_cast<std::size_t>(together));
    // These loops read tiles criss-cross, which no prefetcher foresees.
    const std::byte* const next = x.at((first + count) * x_step).data;
    for (std::int64_t i = 0; i < count * n * x.size; i += 64) __builtin_prefetch(next + i);
    reduce_rows(loops, group.from, group.step, count, n, group.accumulators.data());
    if (call.accumulators.defined())
      std::copy_n(group.accumulators.data(), count, static_cast<Acc*>(call.accumulators.raw()) + first);
  };
  const auto map = [&](Group& group) {
    std::byte* const to = static_cast<std::byte*>(call.out.raw()) + group.first * n * x.size;
    C* const out = x.direct ? reinterpret_cast<C*>(to) : group.converted.data();
    for (std::int64_t r = 0; r < group.count; ++r) {
      const C* const from = group.from + r * group.step;
      typename Op::template Row<C> row;
      op.template finish<C>(row, group.accumulators[static_cast<std::size_t>(r)], n, from[0]);
      map_row(op, row, {from, weight ? weight : from, bias ? bias : from}, n, out + r * n);
    }
    if (!x.direct) write(out, group.count * n, to, 1);
  };
  parallel_for((rows + together - 1) / together, std::max<std::int64_t>(1, loops.grain / (n * together)),
               [&](std::int64_t begin, std::int64_t end) {
                 // The end of a tree is a chain of steps that wait for each other; meanwhile the group before is
                 // mapped.
                 Group groups[2];
                 for (std::int64_t g = begin; g <= end; ++g) {
                   if (g < end) reduce(groups[g % 2], g);
                   if (g > begin) map(groups[(g - 1) % 2]);
                 }
               });
}

}  // namespace

bool map_rows(Cpu, const RowOp& op, const RowCall& call) {
  return std::visit(
      [&]<class Op>(const Op& one) {
        if constexpr (Op::inputs == 1) {
          call.out.dtype() == float64 ? map_rows<Op, double>(one, call) : map_rows<Op, float>(one, call);
          return true;
        }
        return false;  // gradients
      },
      op);
}

}  // namespace tally
