// The exit gate: no call is under way once it is closed (rules P2, P4).
#include "buffers/gate.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "status/error.hpp"

using namespace torchlean;

TEST_CASE("P2: closing waits for the calls under way and refuses later ones") {
  Gate gate;
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        if (!gate.enter()) return;
        ++inside;
        --inside;
        gate.leave();
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.close();
  CHECK(inside == 0);
  CHECK_FALSE(gate.enter());
  CHECK(gate.refusal("add") == TL_UNAVAILABLE);
  CHECK(std::string(thread_state().error_text) == "add: the torchlean runtime has shut down");
  stop = true;
  for (std::thread &thread : threads) thread.join();
}

TEST_CASE("P3: closing twice is harmless") {
  Gate gate;
  gate.close();
  gate.close();
  CHECK_FALSE(gate.is_open());
}

TEST_CASE("calls nest") {
  Gate gate;
  REQUIRE(gate.enter());
  REQUIRE(gate.enter());
  gate.leave();
  gate.leave();
  gate.close();
  CHECK_FALSE(gate.is_open());
}

TEST_CASE("P4: a forked child is refused with its reason") {
  Gate gate;
  gate.mark_forked();
  CHECK_FALSE(gate.enter());
  CHECK(gate.refusal("zeros") == TL_UNAVAILABLE);
  CHECK(std::string(thread_state().error_text).find("forked") != std::string::npos);
}
