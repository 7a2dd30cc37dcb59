// Places sorted by the slot they add to, on the device: the list of a slot's contributions in source order, without a
// float atomic.
#pragma once

#include <tally/core/tensor.h>

namespace tally::detail {

struct Place {
  std::int64_t slot;    // where it adds
  std::int64_t source;  // what it adds
};

/// Device memory for a list of places.
class PlaceList {
 public:
  explicit PlaceList(std::int64_t count);
  Place* data() const { return static_cast<Place*>(memory_.raw()); }
  /// Slots are 0 to `last_slot`. Places of one slot keep their order.
  void sort_by_slot(std::int64_t last_slot);

 private:
  std::int64_t count_;
  Tensor memory_;
};

}  // namespace tally::detail
