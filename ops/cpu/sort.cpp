#include <algorithm>
#include <vector>

#include <tally/core/parallel.h>
#include <tally/ops/sort_key.h>

namespace tally::detail {

void argsort(Cpu, const Tensor& positions, const Tensor& x, Order order) {
  const std::int64_t lists = x.shape()[0], length = x.shape()[1];
  visit(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    struct Entry {
      SortKey<T> key;
      std::int64_t index;
      bool operator<(const Entry& other) const { return key != other.key ? key < other.key : index < other.index; }
    };
    const T* elements = static_cast<const T*>(x.raw());
    std::int64_t* to = positions.data<std::int64_t>();
    parallel_for(lists, 4096 / length + 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Entry> entries(static_cast<std::size_t>(length));
      for (std::int64_t list = begin; list < end; ++list) {
        for (std::int64_t i = 0; i < length; ++i)
          entries[static_cast<std::size_t>(i)] = {sort_key(elements[list * length + i], order), i};
        std::sort(entries.begin(), entries.end());
        for (std::int64_t i = 0; i < length; ++i) to[list * length + i] = entries[static_cast<std::size_t>(i)].index;
      }
    });
  });
}

}  // namespace tally::detail
