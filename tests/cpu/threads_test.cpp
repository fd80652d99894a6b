// The pool of threads: which pieces, nested loops, failures, several callers.
#include "threads.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace torchlean::cpu;

namespace {

// How often each element was visited, and whether each piece begins and ends where it may.
struct Visits {
  Visits(uint32_t threads, uint64_t count, uint64_t grain) : times(count) {
    tl_instance instance(Target::baseline);
    instance.threads = threads;
    parallel_for(instance, count, grain, [&](uint64_t begin, uint64_t end) {
      if (begin % grain != 0 || begin >= end || (end % grain != 0 && end != count)) ++misplaced;
      for (uint64_t i = begin; i < end; ++i) ++times[i];
    });
  }

  std::vector<std::atomic<int>> times;
  std::atomic<int> misplaced{0};
};

}  // namespace

TEST_CASE("every element is in one piece, whose ends are multiples of the grain") {
  for (const uint32_t threads : {1U, 2U, 3U, 4U, 7U})
    for (const uint64_t count : {0UL, 1UL, 9UL, 10UL, 11UL, 100UL, 1009UL})
      for (const uint64_t grain : {1UL, 10UL, 64UL}) {
        const Visits visits(threads, count, grain);
        CHECK(visits.misplaced.load() == 0);
        for (const std::atomic<int> &times : visits.times) REQUIRE(times.load() == 1);
      }
}

TEST_CASE("a single grain stays on the caller's thread, in one piece") {
  tl_instance instance(Target::baseline);
  instance.threads = 4;
  int pieces = 0;
  std::thread::id where;
  parallel_for(instance, 64, 64, [&](uint64_t, uint64_t) {
    ++pieces;
    where = std::this_thread::get_id();
  });
  CHECK(pieces == 1);
  CHECK(where == std::this_thread::get_id());
}

TEST_CASE("each of two threads begins with the same half every time") {
  tl_instance instance(Target::baseline);
  instance.threads = 2;
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> arrived{0};
    std::atomic<uint64_t> first_of_caller{~0ULL};
    std::atomic<uint64_t> first_of_other{~0ULL};
    parallel_for(
        instance, 64, 1, [&, caller = std::this_thread::get_id()](uint64_t begin, uint64_t) {
          std::atomic<uint64_t> &first =
              std::this_thread::get_id() == caller ? first_of_caller : first_of_other;
          if (first.load() != ~0ULL) return;
          first = begin;
          ++arrived;
          const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
          while (arrived < 2 && std::chrono::steady_clock::now() < patience)
            std::this_thread::yield();
        });
    REQUIRE(first_of_caller.load() == 0);
    REQUIRE(first_of_other.load() == 32);
  }
}

TEST_CASE("more pieces than 32 bits count are shared out whole") {
  tl_instance instance(Target::baseline);
  instance.threads = 3;
  constexpr uint64_t count = (uint64_t{1} << 40) + 5;
  std::atomic<uint64_t> visited{0};
  parallel_for(instance, count, 1, [&](uint64_t begin, uint64_t end) { visited += end - begin; });
  CHECK(visited.load() == count);
}

TEST_CASE("a loop inside a loop is computed where it is met") {
  tl_instance instance(Target::baseline);
  instance.threads = 3;
  std::vector<std::atomic<int>> times(64 * 64);
  std::atomic<int> elsewhere{0};
  parallel_for(instance, 64, 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      parallel_for(instance, 64, 1, [&](uint64_t from, uint64_t to) {
        if (std::this_thread::get_id() != outer) ++elsewhere;
        for (uint64_t j = from; j < to; ++j) ++times[i * 64 + j];
      });
    }
  });
  CHECK(elsewhere.load() == 0);
  for (const std::atomic<int> &count : times) REQUIRE(count.load() == 1);
}

TEST_CASE("what a body throws reaches the caller, whichever thread it was on") {
  tl_instance instance(Target::baseline);
  instance.threads = 4;
  for (uint64_t failing = 0; failing < 40; ++failing) {
    CAPTURE(failing);
    CHECK_THROWS_WITH_AS(parallel_for(instance, 40, 1,
                                      [&](uint64_t begin, uint64_t end) {
                                        if (begin <= failing && failing < end)
                                          throw std::runtime_error("on purpose");
                                      }),
                         "on purpose", std::runtime_error);
    CHECK(Visits(4, 100, 1).misplaced.load() == 0);  // the pool serves again
  }
}

TEST_CASE("several callers at once: nobody waits for the pool, and each gets its own result") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (uint64_t caller = 0; caller < 4; ++caller)
    callers.emplace_back([&wrong, caller] {
      tl_instance instance(Target::baseline);
      instance.threads = 3;
      for (uint64_t round = 0; round < 50; ++round) {
        std::vector<uint64_t> squares(500);
        parallel_for(instance, squares.size(), 7, [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; ++i) squares[i] = i * i + caller + round;
        });
        for (uint64_t i = 0; i < squares.size(); ++i)
          if (squares[i] != i * i + caller + round) ++wrong;
      }
    });
  for (std::thread &caller : callers) caller.join();
  CHECK(wrong.load() == 0);
}
