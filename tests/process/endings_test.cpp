// How a process ends, and what it may still do afterwards: under every backend (rules P2 to P4).
// TL_TEST_LONG=1 repeats each way of ending a hundred times.
#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <set>

#include "support/listed.hpp"
#include "support/probe.hpp"

using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

// The last one aborts in any call that meets its own teardown.
const std::vector<std::string> backends = [] {
  std::vector<std::string> paths = torchlean_test::listed(HOST_BACKENDS);
  paths.insert(paths.end(), {"null", NOTHING, TEARS_DOWN});
  return paths;
}();

int rounds() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 1;  // each takes ten times as long
#else
  return std::getenv("TL_TEST_LONG") != nullptr ? 100 : 5;
#endif
}

// A process that ends while it computes, or frees buffers after shutdown, drops what it holds: no
// leak in any sense that matters, but the address sanitizer's leak check reports it.
Finished probe(const std::string &backend, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PROBE);
  return run(arguments, {{"TORCHLEAN_BACKEND", backend},
                         {"TORCHLEAN_DEVICE", contains(backend, "libtorch") ? "cpu" : ""},
                         {"ASAN_OPTIONS", "detect_leaks=0"}});
}

// Ends in the given way with calls under way, `rounds()` times under each backend.
void check_way(const std::string &way, int exit_code) {
  for (const std::string &backend : backends) {
    std::multiset<int> codes;
    std::string text;
    for (int round = 0; round < rounds(); ++round) {
      const Finished finished = probe(backend, {"end", way});
      codes.insert(finished.exit_code);
      text += finished.err;
    }
    CAPTURE(backend);
    CAPTURE(text);
    CHECK(codes.count(exit_code) == static_cast<std::size_t>(rounds()));
    CHECK(text.empty());
  }
}

}  // namespace

TEST_CASE("P2: main returns with calls under way") { check_way("return", 7); }
TEST_CASE("P2: exit with calls under way") { check_way("exit", 7); }
TEST_CASE("P2: exit on a second thread with calls under way") { check_way("thread", 7); }
TEST_CASE("P2: quick_exit with calls under way") { check_way("quick_exit", 7); }
TEST_CASE("P2: a signal with calls under way") { check_way("signal", 128 + SIGTERM); }

TEST_CASE("P3: buffers are freed and the runtime is shut down again after shutdown") {
  for (const std::string &backend : backends) {
    CAPTURE(backend);
    CHECK(probe(backend, {"shutdown"}).exit_code == 7);
  }
}

TEST_CASE("P4: in a forked child every call returns a status that says so") {
  for (const std::string &backend : backends) {
    CAPTURE(backend);
    const Finished finished = probe(backend, {"fork"});
    CHECK(finished.exit_code == 7);
    CHECK(contains(finished.err, "forked"));
  }
}
