// Ops on rows (ops/row_ops.h): a row is reduced and then mapped while it is in the cache.
#include <algorithm>
#include <cstring>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/ops/cpu/exp_at_most_0.h>
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
template <class C> struct Map<rows::Softmax, C> {
  static constexpr bool on_integers = false;
  rows::Softmax op;
  LogSumExp::Shifted<C> row;
  C operator()(C x, C, C) const { return detail::exp_at_most_0(x - row.max) / row.sum; }
};

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
  const auto loop = detail::IsaLoops::best<Map<Op, C>, C, C, 3>();
  const std::int64_t rows = call.shape.rows, n = call.shape.n;
  const Source<C> x(call.inputs[0]);
  const Writer<C> write = writer<C>(call.out.dtype());
  const std::int64_t x_step = row_step(call.inputs[0], call.shape);
  const auto column = [](const Tensor& of) { return of.defined() ? static_cast<const C*>(of.raw()) : nullptr; };
  const C *const weight = column(call.weight), *const bias = column(call.bias);
  // Short rows end in one tree together; so many that they are still in the first cache when they are mapped.
  const std::int64_t together = n > 256 ? 1 : std::min<std::int64_t>(4096 / n, 256);

  const auto some = [&](std::int64_t first, std::int64_t count, C* converted, Acc* accumulators) {
    std::byte* const to = static_cast<std::byte*>(call.out.raw()) + first * n * x.size;
    const C* from = x.at(first * x_step).elements();
    std::int64_t step = x_step;
    C* out = reinterpret_cast<C*>(to);
    if (!x.direct) {
      for (std::int64_t r = 0; r < count; ++r) x.read(x.at((first + r) * x_step).data, 1, n, converted + r * n);
      from = out = converted;
      step = n;
    }
    reduce_rows(loops, from, step, count, n, accumulators);
    if (call.accumulators.defined())
      std::copy_n(accumulators, count, static_cast<Acc*>(call.accumulators.raw()) + first);
    for (std::int64_t r = 0; r < count; ++r, from += step) {
      Map<Op, C> map{op, {}};
      op.template finish<C>(map.row, accumulators[r], n, from[0]);
      const C* const inputs[] = {from, weight ? weight : from, bias ? bias : from};
      loop(&map, out + r * n, inputs, n);
    }
    if (!x.direct) write(converted, count * n, to, 1);
  };
  parallel_for((rows + together - 1) / together, std::max<std::int64_t>(1, loops.grain / (n * together)),
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<C> converted(x.direct ? 0 : static_cast<std::size_t>(n * together));
                 std::vector<Acc> accumulators(static_cast<std::size_t>(together));
                 for (std::int64_t first = begin * together; first < std::min(rows, end * together); first += together)
                   some(first, std::min(together, rows - first), converted.data(), accumulators.data());
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
