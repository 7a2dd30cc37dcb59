#include <tally/core/cpu_cache.h>

#include <pthread.h>

#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

namespace tally::detail {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::size_t kSmallest = std::size_t{64} << 10;  // below, malloc keeps them itself
constexpr std::size_t kMost = std::size_t{256} << 20;     // of all that is kept

void* from_system(std::size_t bytes) { return ::operator new(bytes, kAlignment, std::nothrow); }
void to_system(void* data) { ::operator delete(data, kAlignment); }

bool is_kept(std::size_t bytes) { return kKeepsBlocks && bytes >= kSmallest && bytes <= kMost; }

/// Eight an octave: at most an eighth more than asked, of pages that nobody touches.
struct SizeClass {
  explicit SizeClass(std::size_t bytes) {
    const std::size_t step = std::bit_floor(bytes) / 8;
    size = (bytes + step - 1) / step * step;
    const int octave = std::bit_width(size) - 1;
    index = static_cast<std::size_t>(octave) * 8 + (size >> (octave - 3)) % 8;
  }
  std::size_t size, index;
};

/// A free block holds the link to the next one, so that freeing allocates nothing.
struct Block {
  Block* next;
};
using Lists = std::array<Block*, 8 * 64>;

struct Cache {
  std::mutex mutex;
  Lists lists{};  // by size class
  CpuCacheCounts counts;

  /// Under the mutex.
  Lists take_all() {
    counts.cached_bytes = 0;
    return std::exchange(lists, {});
  }
};
constinit Cache cache;

// A child of fork() has none of the other threads: what one of them held locked would stay so. Nobody holds it while
// the process is copied, and the lists are whole.
[[maybe_unused]] const int at_fork = ::pthread_atfork([] { cache.mutex.lock(); },    // before
                                                      [] { cache.mutex.unlock(); },  // in the parent
                                                      [] { cache.mutex.unlock(); });

void to_system(const Lists& lists) {
  for (Block* block : lists)
    while (block) to_system(static_cast<void*>(std::exchange(block, block->next)));
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  std::size_t size = bytes;
  if (is_kept(bytes)) {
    const SizeClass wanted(bytes);
    size = wanted.size;
    const std::lock_guard lock(cache.mutex);
    if (Block*& list = cache.lists[wanted.index]) {
      cache.counts.cached_bytes -= size;
      ++cache.counts.hits;
      return std::exchange(list, list->next);
    }
  }
  if (void* data = from_system(size)) return data;
  empty_cpu_cache();
  return from_system(size);
}

void free_block(void* data, std::size_t bytes) {
  if (!is_kept(bytes)) return to_system(data);
  const SizeClass its(bytes);
  Lists all{};
  {
    const std::lock_guard lock(cache.mutex);
    // All go when they are too many: those that fit nothing any more would otherwise stay for ever.
    if (cache.counts.cached_bytes + its.size > kMost) all = cache.take_all();
    cache.lists[its.index] = new (data) Block{cache.lists[its.index]};
    cache.counts.cached_bytes += its.size;
  }
  to_system(all);
}

void empty_cpu_cache() {
  Lists all;
  {
    const std::lock_guard lock(cache.mutex);
    all = cache.take_all();
  }
  to_system(all);
}

CpuCacheCounts cpu_cache_counts() {
  const std::lock_guard lock(cache.mutex);
  return cache.counts;
}

}  // namespace tally::detail
