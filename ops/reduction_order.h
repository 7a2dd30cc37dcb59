// The numbers of the order that ops/reduction.h describes.
#pragma once

namespace tally {

/// Lanes in a tile, elements in a lane, elements in a tile.
inline constexpr int kLanes = 128;
inline constexpr int kPerLane = 8;
inline constexpr int kTile = kLanes * kPerLane;
/// Goes up with every change of the order that changes a bit. Checkpoints carry it.
inline constexpr int kOrderVersion = 2;

}  // namespace tally
