#include <algorithm>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/ops/scan_ops.h>

namespace tally {
namespace {

constexpr int kChunks = kTile / kChunk;

// Steps 1 to 3 of the order in ops/scan.h, in place.
template <class Op, class Acc> void scan_tile(const Op& op, Acc* acc, int count) {
  const int chunks = (count + kChunk - 1) / kChunk;
  Acc ends[kChunks];
  for (int c = 0; c < chunks; ++c) {
    const int end = std::min(count, (c + 1) * kChunk);
    for (int i = c * kChunk + 1; i < end; ++i) acc[i] = op.combine(acc[i - 1], acc[i]);
    ends[c] = acc[end - 1];
  }
  for (int d = 1; d < chunks; d *= 2)
    for (int c = chunks - 1; c >= d; --c) ends[c] = op.combine(ends[c - d], ends[c]);
  for (int i = kChunk; i < count; ++i) acc[i] = op.combine(ends[i / kChunk - 1], acc[i]);
}

// All steps over accumulators, in place.
template <class Op, class Acc> void scan_list(const Op& op, Acc* acc, std::int64_t count) {
  std::vector<Acc> totals;
  for (std::int64_t t = 0; t < count; t += kTile) {
    const int size = static_cast<int>(std::min<std::int64_t>(kTile, count - t));
    scan_tile(op, acc + t, size);
    totals.push_back(acc[t + size - 1]);
  }
  if (totals.size() == 1) return;
  scan_list(op, totals.data(), static_cast<std::int64_t>(totals.size()));
  for (std::int64_t i = kTile; i < count; ++i)
    acc[i] = op.combine(totals[static_cast<std::size_t>(i / kTile - 1)], acc[i]);
}

template <class Op, class C> class Scanner {
 public:
  using Acc = typename Op::template Acc<C>;

  Scanner(const Op& op, const ScanCall& call)
      : op_(op),
        lists_(call),
        y_(static_cast<C*>(call.y.raw())),
        x_(static_cast<const C*>(call.x.raw())),
        b_(call.b.defined() ? static_cast<const C*>(call.b.raw()) : nullptr) {}

  void run() {
    const std::int64_t tiles = lists_.tiles(), count = lists_.kept.count * tiles;
    const std::int64_t grain = std::max<std::int64_t>(1, kTile * 8 / std::min<std::int64_t>(lists_.length, kTile));
    std::vector<Acc> totals;
    if (tiles > 1) {
      totals.resize(static_cast<std::size_t>(count));
      parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          tile(i, [&](const Acc* acc, int size, auto&&) { totals[static_cast<std::size_t>(i)] = acc[size - 1]; });
      });
      parallel_for(lists_.kept.count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin; o < end; ++o) scan_list(op_, totals.data() + o * tiles, tiles);
      });
    }
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        tile(i, [&](Acc* acc, int size, auto&& out) {
          const std::int64_t first = i % tiles * kTile;
          for (int j = 0; j < size; ++j) {
            if (first > 0) acc[j] = op_.combine(totals[static_cast<std::size_t>(i - 1)], acc[j]);
            out(j) = op_.project(acc[j], first + j + 1, C(0));
          }
        });
    });
  }

 private:
  // f(accumulators, their count, place of the j-th result) for tile i of all lists' tiles.
  template <class F> void tile(std::int64_t i, F&& f) {
    std::int64_t list[3];
    lists_.kept.offsets(i / lists_.tiles(), list);
    const std::int64_t first = i % lists_.tiles() * kTile;
    const int size = static_cast<int>(std::min<std::int64_t>(kTile, lists_.length - first));
    Acc acc[kTile];
    for (int j = 0; j < size; ++j) {
      const C x = x_[lists_.at(list, 1, first + j)];
      if constexpr (Op::inputs == 2)
        acc[j] = op_.lift(x, b_[lists_.at(list, 2, first + j)]);
      else
        acc[j] = op_.lift(x);
    }
    scan_tile(op_, acc, size);
    f(acc, size, [&](int j) -> C& { return y_[lists_.at(list, 0, first + j)]; });
  }

  const Op& op_;
  const ScanLists lists_;
  C* y_;
  const C *x_, *b_;
};

}  // namespace

void scan(Cpu, const Scan& op, const ScanCall& call) {
  std::visit(
      [&](const auto& one) {
        using Op = std::decay_t<decltype(one)>;
        if (call.y.dtype() == float32) return Scanner<Op, float>(one, call).run();
        if (call.y.dtype() == float64) return Scanner<Op, double>(one, call).run();
        if constexpr (op_accepts<Op, std::int64_t>()) Scanner<Op, std::int64_t>(one, call).run();
      },
      op);
}

}  // namespace tally
