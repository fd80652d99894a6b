// All orders of loading backends, good and bad (rule L12).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "support/listed.hpp"
#include "support/probe.hpp"

using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

std::string path_of(const std::string &kind) {
  return std::string(BAD_FOLDER) + "/torchlean_bad-" + kind + ".so";
}

bool is_long() { return std::getenv("TL_TEST_LONG") != nullptr; }

// What came of each path when one process opened them in this order: its two lines.
using Outcomes = std::map<std::string, std::string>;
Outcomes outcomes(const std::vector<std::string> &paths) {
  std::vector<std::string> command = {PROBE, "each"};
  command.insert(command.end(), paths.begin(), paths.end());
  const Finished finished = run(command, {{"ASAN_OPTIONS", "detect_leaks=0"}});  // LibTorch
  CHECK(finished.exit_code == 0);
  Outcomes result;
  std::istringstream stream(finished.out);
  std::string path;
  for (std::string line; std::getline(stream, line);) {
    for (const std::string beginning : {"opened /", "again /"}) {
      if (line.rfind(beginning, 0) != 0) continue;
      const std::size_t colon = line.find(": ");
      path = line.substr(beginning.size() - 1, colon - beginning.size() + 1);
      line.erase(0, colon + 2);
    }
    result[path] += line + "\n";
  }
  return result;
}

void check_outcomes(const std::vector<std::string> &paths, const Outcomes &expected) {
  std::string order;
  for (const std::string &path : paths) order += path + " ";
  CAPTURE(order);
  CHECK(outcomes(paths) == expected);
}

// Every order of the paths; under a sanitizer, which is slow, those that rotate and reverse them.
void check_orders(std::vector<std::string> paths, const Outcomes &expected) {
  std::sort(paths.begin(), paths.end());
#if defined(__SANITIZE_ADDRESS__)
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::rotate(paths.begin(), paths.begin() + 1, paths.end());
    check_outcomes(paths, expected);
    check_outcomes({paths.rbegin(), paths.rend()}, expected);
  }
#else
  do check_outcomes(paths, expected);
  while (std::next_permutation(paths.begin(), paths.end()));
#endif
}

}  // namespace

TEST_CASE("L12: what becomes of a backend does not depend on what was opened before it") {
  // Each stops at another stage; the last one works.
  std::vector<std::string> paths = {path_of("missing-library"), path_of("null-with-reason"),
                                    path_of("wrong-sum"), REFERENCE};
  if (is_long()) paths.insert(paths.end(), {path_of("note-other-abi"), path_of("good")});
  Outcomes alone;
  for (const std::string &path : paths) alone.merge(outcomes({path}));
  CHECK(contains(alone[REFERENCE], "sum 3 4"));
  CHECK(contains(alone[path_of("wrong-sum")], "add gave 4 instead of 3"));
  check_orders(paths, alone);
}

TEST_CASE("L12: backends load in every order, and each computes beside the others") {
  std::vector<std::string> paths = torchlean_test::listed(HOST_BACKENDS);
  Outcomes expected;
  for (const std::string &path : paths) expected[path] = "sum 3 4\nsum 3 4\n";
  if (is_long()) {
    check_orders(paths, expected);
    return;
  }
  check_outcomes(paths, expected);  // the others with --long: each opens LibTorch
  std::reverse(paths.begin(), paths.end());
  check_outcomes(paths, expected);
}
