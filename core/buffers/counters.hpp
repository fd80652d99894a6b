// Payload counters: exact, process-wide, one consistent snapshot (rule P6).
#pragma once

#include <torchlean/runtime.h>

#include <cstdint>

namespace torchlean {

namespace counters {

// A handle was made; `bytes` is its payload, 0 for an empty one.
void handle_made(tl_backend &backend, std::uint64_t bytes) noexcept;

// A payload of `bytes` > 0 was retired; its handle lives on.
void payload_retired(std::uint64_t bytes) noexcept;

// A handle was freed together with a payload of `bytes` (0: it was empty or retired before). True:
// it was the last handle of a backend that has been closed, so the caller must delete it.
bool handle_freed(tl_backend &backend, std::uint64_t bytes) noexcept;

// Marks the backend closed. True: it has no handle left, the caller must delete it.
bool close(tl_backend &backend) noexcept;

// Handles alive, empty and released ones included.
std::uint64_t live_handles() noexcept;

tl_counters snapshot() noexcept;

}  // namespace counters
}  // namespace torchlean
