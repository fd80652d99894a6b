// B1, P5: a backend prints nothing, neither when it is loaded nor when it computes.
#include <doctest/doctest.h>

#include <sstream>

#include "support/listed.hpp"
#include "support/probe.hpp"

using torchlean_test::Finished;
using torchlean_test::run;

namespace {

const std::vector<std::string> host_backends = torchlean_test::listed(HOST_BACKENDS);

// What opening the backend by name and computing with it prints beside the probe's own lines.
std::string foreign_lines(const std::string &backend) {
  const Finished finished = run({PROBE, "open", backend}, {{"TORCHLEAN_LOG", "warn"}});
  std::string lines = finished.err;
  std::istringstream stream(finished.out);
  for (std::string line; std::getline(stream, line);) {
    bool is_own = false;
    for (const char *beginning : {"sum 3 4", "attempt ", "mapped "}) {
      is_own = is_own || line.rfind(beginning, 0) == 0;
    }
    if (!is_own) lines += line + "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("B1, P5: no backend prints anything") {
  for (const std::string &backend : host_backends) {
    CAPTURE(backend);
    CHECK(foreign_lines(backend) == "");
  }
}

TEST_CASE("P5: one that does is found") {
  CHECK(foreign_lines(PRINTS) == "the entry says hello\ncreate says hello\n");
}
