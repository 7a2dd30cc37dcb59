// The CPU's memory under storages. Large blocks that are freed are kept for the next of their size class: memory fresh
// from the system costs a page fault each 4 KiB, several times what an elementwise op does there.
#pragma once

#include <cstddef>
#include <cstdint>

// Under AddressSanitizer a block that is freed stays so: it is to see who still reads it.
#if defined(__SANITIZE_ADDRESS__)
#define TALLY_KEEPS_BLOCKS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TALLY_KEEPS_BLOCKS false
#endif
#endif
#if !defined(TALLY_KEEPS_BLOCKS)
#define TALLY_KEEPS_BLOCKS true
#endif

namespace tally::detail {

inline constexpr bool kKeepsBlocks = TALLY_KEEPS_BLOCKS;
#undef TALLY_KEEPS_BLOCKS

/// 64-byte aligned; null when there is no memory.
void* allocate_block(std::size_t bytes);
/// Takes the bytes that it was allocated with.
void free_block(void* data, std::size_t bytes);
/// What is kept goes back to the system, as it does when that has no more.
void empty_cpu_cache();

struct CpuCacheCounts {
  std::size_t cached_bytes = 0;
  std::int64_t hits = 0;
};
CpuCacheCounts cpu_cache_counts();

}  // namespace tally::detail
