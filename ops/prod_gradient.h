// The gradient of prod: for each element, the product of the others in its list, without a division, so that zeros,
// infinities and NaN come out exact.
//
// It is the reverse sweep of the very tree that ops/reduction.h describes. At the root the product of what is outside
// is 1; a node with product outside E hands its children E · (product of the sibling): first down the tree over tiles,
// then down the tree over the lanes of a tile, then along each lane, a chain in which element j's sibling is the
// product of the elements before it. Every product is one rounding with unbounded exponent; multiplication commutes, so
// this fixes the bits.
#pragma once

#include <cmath>

#include <tally/core/strided.h>
#include <tally/ops/reductions.h>

namespace tally::prod_gradient {

template <class C> using Factors = Prod::Factors<C>;

template <class C> TALLY_HD Factors<C> one() { return Prod().identity<C>(); }

/// grad · product of the others.
template <class C> TALLY_HD C times(C grad, Factors<C> others) {
  const Wide<C> scaled = Wide<C>(grad) * others.product;
  if (others.zeros == 0) return scaled.narrow();
  return math::isfinite(scaled.m) ? math::copysign(C(0), scaled.m) : C(NAN);
}

/// The product of a lane of 1 to 8 elements.
template <class C> TALLY_HD Factors<C> of_lane(const C (&x)[kPerLane], int count) {
  const Prod op;
  Factors<C> product = op.lift(x[0]);
  for (int j = 1; j < kPerLane; ++j)
    if (j < count) product = op.combine(product, op.lift(x[j]));
  return product;
}

/// Replaces each element of a lane by its gradient; `outside` is the product of all that is not in the lane.
template <class C> TALLY_HD void sweep_lane(C (&x)[kPerLane], int count, Factors<C> outside, C grad) {
  const Prod op;
  Factors<C> before[kPerLane];  // before[j]: the product of the first j elements
  before[1] = op.lift(x[0]);
  for (int j = 2; j < kPerLane; ++j)
    if (j < count) before[j] = op.combine(before[j - 1], op.lift(x[j - 1]));
  for (int j = kPerLane - 1; j > 0; --j) {
    if (j >= count) continue;
    const Factors<C> own = op.lift(x[j]);
    x[j] = times(grad, op.combine(outside, before[j]));
    outside = op.combine(outside, own);
  }
  x[0] = times(grad, outside);
}

// A tree as a heap: node i has the children 2i and 2i + 1; the leaves begin at a power of two, and the first `used` of
// them exist. A level is the nodes [level, 2·level).

/// Whether the right child of a node exists, where `leaves_below` leaves lie below each child.
TALLY_HD inline bool has_right(std::int64_t node, std::int64_t level, std::int64_t leaves_below, std::int64_t used) {
  return ((node - level) * 2 + 1) * leaves_below < used;
}

/// One node on the way up: its product from its children's.
template <class C> TALLY_HD void up(Factors<C>* heap, std::int64_t node, bool right) {
  heap[node] = right ? Prod().combine(heap[2 * node], heap[2 * node + 1]) : heap[2 * node];
}

/// One node on the way down: the children's products become the products outside them.
template <class C> TALLY_HD void down(Factors<C>* heap, std::int64_t node, bool right) {
  const Factors<C> left = heap[2 * node];
  heap[2 * node] = right ? Prod().combine(heap[node], heap[2 * node + 1]) : heap[node];
  if (right) heap[2 * node + 1] = Prod().combine(heap[node], left);
}

/// Where the elements of each list lie in x and in the dense gradient.
struct Places {
  Strided<2> kept, reduced;
  std::int64_t outputs() const { return kept.count; }
  std::int64_t length() const { return reduced.count; }
};

/// From the walk of plan_backward: a dim counts through the lists or through a list's elements.
inline Places places(const Strided<5>& walk) {
  Places places;
  for (int d = 0; d < walk.rank; ++d) {
    Strided<2>& part = walk.strides[2][d] != 0 ? places.kept : places.reduced;
    part.count *= walk.sizes[d];
    part.sizes[part.rank] = walk.sizes[d];
    for (int k = 0; k < 2; ++k) part.strides[k][part.rank] = walk.strides[k][d];
    ++part.rank;
  }
  return places;
}

}  // namespace tally::prod_gradient
