// Which of the library's reductions share their loops, which have vector loops (ops/cpu/reduce_kernels.h), and the
// accumulators of these loops' tiles.
#pragma once

#include <tally/ops/cpu/reduce_kernels.h>
#include <tally/ops/reductions.h>

namespace tally::cpu_loops {

using detail::TileKind;
using detail::TileResult;

/// The op whose loops an op runs up to `project`: itself, or the base from which only its results differ.
template <class Op> struct ArithmeticOf { using type = Op; };
template <> struct ArithmeticOf<Mean> { using type = Sum; };
template <> struct ArithmeticOf<Std> { using type = Var; };
template <> struct ArithmeticOf<Any> { using type = CountNonzero; };
template <> struct ArithmeticOf<All> { using type = CountNonzero; };
template <> struct ArithmeticOf<Norm0> { using type = CountNonzero; };

template <class Op> inline constexpr TileKind kTileKind = TileKind::none;
template <> inline constexpr TileKind kTileKind<Sum> = TileKind::sum;
template <> inline constexpr TileKind kTileKind<Norm1> = TileKind::norm1;
template <> inline constexpr TileKind kTileKind<Norm2> = TileKind::norm2;
template <> inline constexpr TileKind kTileKind<Prod> = TileKind::prod;
template <> inline constexpr TileKind kTileKind<Var> = TileKind::moments;
template <> inline constexpr TileKind kTileKind<LogSumExp> = TileKind::exponentials;
template <> inline constexpr TileKind kTileKind<Max> = TileKind::max;
template <> inline constexpr TileKind kTileKind<Min> = TileKind::min;
template <> inline constexpr TileKind kTileKind<AMax> = TileKind::amax;
template <> inline constexpr TileKind kTileKind<AMin> = TileKind::amin;
template <> inline constexpr TileKind kTileKind<NormInf<true>> = TileKind::largest_magnitude;
template <> inline constexpr TileKind kTileKind<NormInf<false>> = TileKind::smallest_magnitude;
template <> inline constexpr TileKind kTileKind<CountNonzero> = TileKind::nonzero;

template <class Op, class C>
inline constexpr bool kHasTileLoops = kTileKind<Op> != TileKind::none&& std::is_floating_point_v<C>;

/// Whether these loops go all the way to the op's result.
template <class Op, class C>
inline constexpr bool kGivesResults = kHasTileLoops<Op, C>&& detail::gives_results(kTileKind<Op>);

/// The accumulator of a tile of `count` elements that begins at element `first` of its list.
template <class Op, class C>
typename Op::template Acc<C> accumulator(const TileResult<C>& tile, int count, std::int64_t first) {
  constexpr TileKind kind = kTileKind<Op>;
  if constexpr (kind == TileKind::sum || kind == TileKind::norm1) {
    return tile.first;
  } else if constexpr (kind == TileKind::norm2) {
    return Wide<C>(tile.first);
  } else if constexpr (kind == TileKind::prod) {
    // A significand below 2 and the steps of Wide's exponent; what is left of the exponent is exact, and of either
    // sign, so that products of a few tiles need not be brought into range.
    constexpr int step = WideRange<C>::step;
    const int exponent = static_cast<int>(tile.number), steps = (exponent + (exponent < 0 ? -step : step) / 2) / step;
    return {Wide<C>(tile.first * math::detail::power_of_two<C>(exponent - steps * step), steps), 0};
  } else if constexpr (kind == TileKind::moments) {
    return {count, Wide<C>(tile.first), Wide<C>(tile.second)};
  } else if constexpr (kind == TileKind::exponentials) {
    return {tile.first, tile.second};
  } else if constexpr (kind == TileKind::max || kind == TileKind::min) {
    return {tile.first, first + tile.number};
  } else if constexpr (kind == TileKind::nonzero) {
    return tile.number;
  } else {
    return {tile.first, tile.number};
  }
}

}  // namespace tally::cpu_loops
