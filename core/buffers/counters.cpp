// Payload counters under one spin lock: a peak needs the live figure of the same moment.
#include "buffers/counters.hpp"

#include <algorithm>
#include <mutex>

#include "buffers/handle.hpp"
#include "buffers/spin_lock.hpp"

namespace torchlean::counters {
namespace {

struct alignas(64) State {
  SpinLock lock;
  bool tells_operations_apart = false;
  tl_counters payload = {};
  std::uint64_t handles = 0;
  Shares live = {};

  void create(const tl_buffer &buffer) noexcept {
    const std::uint64_t bytes = buffer.bytes();
    if (bytes == 0) return;
    payload.created_bytes += bytes;
    payload.created_buffers += 1;
    payload.live_bytes += bytes;
    payload.live_buffers += 1;
    payload.peak_bytes = std::max(payload.peak_bytes, payload.live_bytes);
    payload.peak_buffers = std::max(payload.peak_buffers, payload.live_buffers);
    if (!tells_operations_apart) return;
    live[buffer.operation].bytes += bytes;
    live[buffer.operation].buffers += 1;
  }

  void retire(const tl_buffer &buffer) noexcept {
    const std::uint64_t bytes = buffer.bytes();
    if (bytes == 0) return;
    payload.live_bytes -= bytes;
    payload.retired_bytes += bytes;
    payload.live_buffers -= 1;
    payload.retired_buffers += 1;
    if (!tells_operations_apart) return;
    live[buffer.operation].bytes -= bytes;
    live[buffer.operation].buffers -= 1;
  }
};

constinit State state;

}  // namespace

void handle_made(const tl_buffer &buffer) noexcept {
  const std::lock_guard guard(state.lock);
  ++state.handles;
  ++buffer.backend->live_handles;
  state.create(buffer);
}

void payload_retired(const tl_buffer &buffer) noexcept {
  const std::lock_guard guard(state.lock);
  state.retire(buffer);
}

bool handle_freed(const tl_buffer &buffer, bool retires) noexcept {
  Backend &backend = *buffer.backend;
  const std::lock_guard guard(state.lock);
  if (retires) state.retire(buffer);
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

void tell_operations_apart() noexcept {
  const std::lock_guard guard(state.lock);
  state.tells_operations_apart = true;
}

bool operations_are_told_apart() noexcept {
  const std::lock_guard guard(state.lock);
  return state.tells_operations_apart;
}

Shares live_by_operation() noexcept {
  const std::lock_guard guard(state.lock);
  return state.live;
}

}  // namespace torchlean::counters
