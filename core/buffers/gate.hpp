// The exit gate: counts the calls under way, so that a process ends only after its last call.
//
// Libraries like LibTorch tear their own state down while the process exits; a call that still runs
// there crashes. The gate closes first: it refuses new calls and waits for the running ones.
#pragma once

#include <torchlean/types.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "status/thread_state.hpp"

namespace torchlean {

class Gate {
 public:
  // False, with no error text, where the gate is closed or the process is a forked child. After
  // true, leave() must follow on the same thread. Calls may nest.
  bool enter() noexcept {
    if (state_.load(std::memory_order_relaxed) != open) return false;
    std::atomic<std::uint32_t> &lane = lane_of_thread();
    // Sequentially consistent, as in close(): either this call sees the closed gate, or close()
    // sees this call.
    lane.fetch_add(1, std::memory_order_seq_cst);
    if (state_.load(std::memory_order_seq_cst) == open) return true;
    lane.fetch_sub(1, std::memory_order_release);
    return false;
  }

  void leave() noexcept { lane_of_thread().fetch_sub(1, std::memory_order_release); }

  // Refuses later calls and waits up to ten seconds for those under way: a call that hangs must not
  // keep a process from ending.
  void close() noexcept;

  // In the child after fork: refuses every call, before any lock is touched. The calls that were
  // under way in the parent's other threads do not exist here.
  void mark_forked() noexcept { state_.store(forked, std::memory_order_relaxed); }

  // Sets the thread's error text: why enter() said no.
  tl_status refusal(const char *operation) const noexcept;

  bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == open; }

 private:
  enum State : std::uint32_t { open, closed, forked };

  // Threads spread over lanes, each on a cache line of its own, so that they rarely contend.
  struct alignas(64) Lane {
    std::atomic<std::uint32_t> calls{0};
  };

  std::atomic<std::uint32_t> &lane_of_thread() noexcept {
    ThreadState &thread = thread_state();
    if (thread.gate_lane == 0) {
      thread.gate_lane = 1 + next_lane_.fetch_add(1, std::memory_order_relaxed) % lane_count;
    }
    return lanes_[thread.gate_lane - 1].calls;
  }

  static constexpr std::uint32_t lane_count = 16;

  std::atomic<std::uint32_t> state_{open};
  std::atomic<std::uint32_t> next_lane_{0};
  std::array<Lane, lane_count> lanes_;
};

// The process's gate. Never destroyed.
Gate &gate() noexcept;

// One call inside the gate, for functions without operands.
class GateEntry {
 public:
  GateEntry() noexcept : entered_(gate().enter()) {}
  ~GateEntry() {
    if (entered_) gate().leave();
  }
  GateEntry(const GateEntry &) = delete;
  GateEntry &operator=(const GateEntry &) = delete;
  explicit operator bool() const noexcept { return entered_; }

 private:
  bool entered_;
};

}  // namespace torchlean
