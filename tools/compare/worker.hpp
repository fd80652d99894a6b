// Comparing in a process of its own: what the worker says to its parent, line by line.
//
//   {"event": "opened", "baseline": {...}, "backend": {...}}
//   {"event": "unavailable", "name": "...", "reason": "..."}
//   {"event": "row", "row": "add[float32]"}
//   {"event": "case", "case": "add[float32, ordinary, n=1]", "backend": "..."}
//   {"event": "record", "record": {...}}     again, when a smaller failing case has been found
//   {"event": "done"}
#pragma once

#include "compare/engine.hpp"

#include <functional>
#include <string>
#include <vector>

namespace torchlean::tools {

// The worker's side: compares two backends and reports to Child::report_descriptor. Returns the
// exit code.
int run_worker(const std::vector<std::string> &names, const Selection &selection,
               const Conditions &conditions);

struct Isolation {
  std::vector<std::string> names;      // the baseline first
  std::vector<std::string> arguments;  // of `torchlean compare`, without backends
  double time_limit = 60;              // seconds for one case
};

// The parent's side: one worker per backend, started again behind the row in which it ended.
// `progress` is told the row under way. Fills participants, unusable backends and records.
void compare_isolated(const Isolation &isolation, const Selection &selection,
                      const Conditions &conditions,
                      const std::function<void(const std::string &)> &progress, Report &report);

}  // namespace torchlean::tools
