// The exit gate: closing it, and its refusals.
#include "buffers/gate.hpp"

#include <chrono>
#include <thread>

#include "status/error.hpp"

namespace torchlean {

Gate &gate() noexcept {
  static Gate instance;  // trivially destructible, so usable until the very end
  return instance;
}

void Gate::close() noexcept {
  std::uint32_t expected = open;
  if (!state_.compare_exchange_strong(expected, closed, std::memory_order_seq_cst)) return;
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  for (Lane &lane : lanes_) {
    while (lane.calls.load(std::memory_order_seq_cst) != 0 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(100us);
    }
  }
}

tl_status Gate::refusal(const char *operation) const noexcept {
  if (state_.load(std::memory_order_relaxed) == forked) {
    return fail(TL_UNAVAILABLE,
                "{}: this process was forked from one that had started the torchlean runtime; "
                "start a new process (exec) to compute",
                operation);
  }
  return fail(TL_UNAVAILABLE, "{}: the torchlean runtime has shut down", operation);
}

}  // namespace torchlean
