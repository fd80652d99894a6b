// Runs the selected cases on the baseline and on every other backend, and keeps the record.
#pragma once

#include "common/backends.hpp"
#include "compare/corpus.hpp"
#include "compare/record.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace torchlean::tools {

struct Selection {
  std::vector<Selector> selectors;  // empty: everything
  std::vector<tl_dtype> dtypes;     // empty: all
  std::uint64_t seed = 1;
  Size size = Size::standard;
  std::vector<CorpusEntry> corpus;     // run first
  std::string after;                   // rows up to this one ("add[float32]") are done already
  std::vector<std::string> arguments;  // of the command, with which another process selects alike
};

// Told what happens as it happens.
struct Observer {
  std::function<void(const std::string &row)> row_begins;
  std::function<void(const std::string &case_name, const std::string &backend)> case_begins;
  // Again, when a smaller failing case has been found.
  std::function<void(const OperationRecord &)> record_made;
};

// Compares the first backend with each of the others; all are open. The records go to the observer.
void compare_backends(const std::vector<OpenedBackend> &backends, const Selection &selection,
                      const Conditions &conditions, const Observer &observer);

Participant participant_of(const OpenedBackend &backend);

// A command that runs just this case.
std::string replay_command(const Selection &selection, const Conditions &conditions,
                           const std::string &baseline, const std::string &backend,
                           const std::string &case_name);

}  // namespace torchlean::tools
