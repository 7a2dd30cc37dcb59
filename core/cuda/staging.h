// Pinned memory for copies from the host that must not wait. Internal.
#pragma once

#include <cstddef>

namespace tally::gpu::detail {

/// Copies up to this size go through pinned memory. A copy from ordinary memory may wait for all work before it.
constexpr std::size_t kStagedBytes = 16 * 1024;

/// Queues a copy of the bytes as they are now.
void copy_staged(void* target, const void* source, std::size_t bytes);

}  // namespace tally::gpu::detail
