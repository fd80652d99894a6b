// Host memory for payloads: the service behind tl_host.alloc, accounted for and capped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchlean::host_memory {

// Aligned to 64 bytes; null when exhausted, over the cap, or for 0 bytes.
void *allocate(std::size_t bytes) noexcept;
void release(void *block, std::size_t bytes) noexcept;

// At most ⌊fraction · physical memory⌋ bytes from now on.
void set_fraction(double fraction) noexcept;

std::uint64_t physical_bytes() noexcept;

// Gives unused pages of the process's heap back to the system.
void collect() noexcept;

}  // namespace torchlean::host_memory
