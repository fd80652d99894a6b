// Payload counters under one spin lock: a peak needs the live figure of the same moment.
#include "buffers/counters.hpp"

#include <algorithm>
#include <mutex>

#include "buffers/spin_lock.hpp"
#include "loader/backend.hpp"

namespace torchlean::counters {
namespace {

struct alignas(64) State {
  SpinLock lock;
  tl_counters payload = {};
  std::uint64_t handles = 0;

  void retire(std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    payload.live_bytes -= bytes;
    payload.retired_bytes += bytes;
    payload.live_buffers -= 1;
    payload.retired_buffers += 1;
  }
};

constinit State state;

}  // namespace

void handle_made(tl_backend &backend, std::uint64_t bytes) noexcept {
  const std::lock_guard guard(state.lock);
  ++state.handles;
  ++backend.live_handles;
  if (bytes == 0) return;
  tl_counters &payload = state.payload;
  payload.created_bytes += bytes;
  payload.created_buffers += 1;
  payload.live_bytes += bytes;
  payload.live_buffers += 1;
  payload.peak_bytes = std::max(payload.peak_bytes, payload.live_bytes);
  payload.peak_buffers = std::max(payload.peak_buffers, payload.live_buffers);
}

void payload_retired(std::uint64_t bytes) noexcept {
  const std::lock_guard guard(state.lock);
  state.retire(bytes);
}

bool handle_freed(tl_backend &backend, std::uint64_t bytes) noexcept {
  const std::lock_guard guard(state.lock);
  state.retire(bytes);
  --state.handles;
  return --backend.live_handles == 0 && backend.is_closed;
}

bool close(tl_backend &backend) noexcept {
  const std::lock_guard guard(state.lock);
  if (backend.is_closed) return false;
  backend.is_closed = true;
  return backend.live_handles == 0;
}

std::uint64_t live_handles() noexcept {
  const std::lock_guard guard(state.lock);
  return state.handles;
}

tl_counters snapshot() noexcept {
  const std::lock_guard guard(state.lock);
  return state.payload;
}

}  // namespace torchlean::counters
