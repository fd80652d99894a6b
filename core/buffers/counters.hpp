// Payload counters: exact, process-wide, one consistent snapshot (rule P6).
#pragma once

#include <torchlean/runtime.h>

#include <array>
#include <cstdint>

namespace torchlean {

namespace counters {

// A handle was made, with its payload unless it is empty.
void handle_made(const tl_buffer &buffer) noexcept;

// Its payload, not an empty one, was retired; the handle lives on.
void payload_retired(const tl_buffer &buffer) noexcept;

// The handle is about to be freed, together with its payload if that was not retired before. True:
// it was the last handle of a backend that has been closed, so the caller must delete that.
bool handle_freed(const tl_buffer &buffer, bool retires) noexcept;

// Marks the backend closed. True: it has no handle left, the caller must delete it.
bool close(tl_backend &backend) noexcept;

// Handles alive, empty and released ones included.
std::uint64_t live_handles() noexcept;

tl_counters snapshot() noexcept;

// Live payloads by the operation that made them; all zeros unless told apart from the start.
struct Share {
  std::uint64_t buffers = 0;
  std::uint64_t bytes = 0;
};
using Shares = std::array<Share, TL_OP_COUNT>;
void tell_operations_apart() noexcept;
bool operations_are_told_apart() noexcept;
Shares live_by_operation() noexcept;

}  // namespace counters
}  // namespace torchlean
