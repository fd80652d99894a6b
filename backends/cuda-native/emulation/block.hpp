// The threads of a block that cooperate: each a fiber, which waits at barriers and warp operations
// for the others.
//
// What a device leaves undefined is an error here: a thread that ends, or waits elsewhere, while
// others wait for it at a barrier or in a warp operation. Under the thread sanitizer each kernel
// thread is a thread of its own, ordered with others by barriers alone (a shuffle orders nothing).
#pragma once

#include "fiber.hpp"
#include "shared_memory.hpp"

#include <torchlean/backend.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace torchlean::cuda::emulation {

inline constexpr uint32_t warp_size = 32;
inline constexpr uint32_t most_threads_in_a_block = 1024;

// A line of a kernel. (The standard's source_location is not in the lint's compiler.)
struct Site {
  const char *file;
  unsigned line;

  // As a default argument: the line of the call.
  static constexpr Site current(const char *file = __builtin_FILE(),
                                unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  // "reduction.cu:41"
  std::string text() const;
  bool operator==(const Site &) const = default;
};

// One thread's part in an operation of its warp.
struct WarpRequest {
  enum class Kind : uint8_t { synchronize, shuffle, ballot };

  Kind kind;
  uint32_t mask;    // the lanes that take part
  uint64_t value;   // what the lane gives: its bits, or its vote
  uint32_t source;  // of a shuffle: the lane whose value it takes
};

// The block that runs on this host thread. It keeps its fibers from block to block.
class Block {
 public:
  struct Launch {
    const char *operation;
    uint32_t threads;  // of each block
    size_t dynamic_shared_bytes;
    uint64_t schedule;
    const std::function<void()> &kernel;
  };

  // Runs one block; throws what a kernel thread threw, or a Failure that says what a device would
  // have left undefined.
  void run(const Launch &launch, uint32_t block);
  // After the launch's last block: what its threads did comes before what the host does next.
  void end_launch();

  // Called by kernel threads.
  void wait_at_barrier(Site site);
  uint64_t take_part(const WarpRequest &request, Site site);
  // As SharedMemory's; a Failure where the block has no room.
  void *variable(const void *key, size_t bytes, Site site);
  void *dynamic() const { return shared_memory_.dynamic(); }

 private:
  enum class State : uint8_t { not_begun, runnable, at_barrier, in_warp_operation, ended };
  struct Stopped {};  // thrown into threads that wait when another one has failed

  struct Thread {
    explicit Thread(Block *block)
        : fiber([](void *argument) { static_cast<Block *>(argument)->run_thread(); }, block) {}

    State state = State::ended;
    Site site{};  // where it waits
    WarpRequest request{};
    uint64_t result = 0;  // of its last warp operation
    Fiber fiber;
  };

  void prepare(const Launch &launch, uint32_t block);
  void run_thread();
  void run_phase();
  void run_warp(uint32_t warp);
  void resume(uint32_t thread);
  void suspend();
  void stop();
  bool pass_barrier();
  bool is_met(const Thread &waiting, uint32_t thread) const;
  void complete(const WarpRequest &request, uint32_t first);
  Failure failure(const std::string &what) const;
  std::string describe(uint32_t thread) const;
  std::string describe_deadlock() const;
  Thread &at(uint32_t thread) const { return *current_[thread]; }

  // Under the thread sanitizer two sets take turns: a fiber's own blocks are in order for it, and
  // neighbouring ones would hide each other's races.
  std::array<std::vector<std::unique_ptr<Thread>>, 2> sets_;
  std::unique_ptr<Thread> *current_ = nullptr;
  SharedMemory shared_memory_;
  const Launch *launch_ = nullptr;
  uint32_t block_ = 0;
  uint32_t warps_ = 0;
  uint32_t running_ = 0;
  uint32_t phase_ = 0;  // barriers passed
  uint64_t seed_ = 0;   // of the orders within this block
  uint32_t warp_barriers_[most_threads_in_a_block / warp_size] = {};
  bool stopping_ = false;
  std::exception_ptr failure_;
  char host_was_here_ = 0;  // addresses that stand for points of order
  char threads_ended_ = 0;
};

}  // namespace torchlean::cuda::emulation
