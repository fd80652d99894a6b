// The time that help takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "support/process.hpp"

TEST_CASE("torchlean --help takes at most 20 ms") {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto started = std::chrono::steady_clock::now();
    CHECK(torchlean_test::run({TORCHLEAN, "--help"}).exit_code == 0);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - started;
    best = std::min(best, taken.count());
  }
  MESSAGE("best of 20: " << best << " ms");
  CHECK(best <= 20);
}
