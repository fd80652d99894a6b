// torchlean compare: holds backends against each other, operation by operation.
#include "compare/command.hpp"
#include "common/backends.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"
#include "compare/direct/worker.hpp"
#include "compare/worker.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>

namespace torchlean::tools {
namespace {

// The reference is the baseline wherever it takes part: a lone backend is compared with it.
std::vector<std::string> participants(const std::vector<std::string> &asked) {
  std::vector<std::string> names = asked.empty() ? candidate_names() : asked;
  const auto reference = std::find(names.begin(), names.end(), "reference");
  if (reference != names.end()) {
    std::rotate(names.begin(), reference, std::next(reference));
  } else if (names.size() < 2) {
    names.insert(names.begin(), "reference");
  }
  return names;
}

// Throws std::invalid_argument.
void complete_selection(CompareOptions &options) {
  Selection &selection = options.selection;
  for (const std::string &name : options.dtypes) {
    const auto &names = compare_dtypes();
    selection.dtypes.push_back(
        static_cast<tl_dtype>(std::find(names.begin(), names.end(), name) - names.begin()));
  }
  selection.size = *size_of(options.size);
  for (const std::string &list : options.operations) {
    for (const std::string &text : split_selectors(list)) {
      selection.selectors.push_back(parse_selector(text));
    }
  }
  if (!options.corpus.empty()) selection.corpus = read_corpus(options.corpus);
}

void compare_here(const CompareOptions &options, const std::vector<std::string> &names,
                  Progress &progress, Report &report) {
  std::vector<OpenedBackend> backends = open_backends(names);
  const bool has_baseline = backends[0].backend.has_value();
  std::erase_if(backends, [&](const OpenedBackend &entry) {
    if (!entry.backend) report.unusable.push_back({entry.name, entry.reason});
    return !entry.backend.has_value();
  });
  if (!has_baseline || backends.empty()) return;
  report.baseline = participant_of(backends[0]);
  for (std::size_t i = 1; i < backends.size(); ++i) {
    report.others.push_back(participant_of(backends[i]));
  }
  std::map<std::string, std::size_t> places;  // of records, to replace them
  compare_backends(backends, options.selection, options.conditions,
                   {[&](const std::string &row) { progress.show(row); },
                    [](const std::string &, const std::string &) {},
                    [&](const OperationRecord &record) {
                      const auto [place, is_new] = places.emplace(
                          fmt::format("{}/{}/{}", record.operation, record.dtype, record.backend),
                          report.operations.size());
                      if (is_new) {
                        report.operations.push_back(record);
                      } else {
                        report.operations[place->second] = record;
                      }
                    }});
}

// What a worker needs to make the same selection.
std::vector<std::string> worker_arguments(const CompareOptions &options) {
  std::vector<std::string> arguments = {"--seed",   fmt::format("{}", options.selection.seed),
                                        "--size",   options.size,
                                        "--repeat", fmt::format("{}", options.conditions.repeat)};
  for (const std::string &list : options.operations) arguments.push_back("--ops=" + list);
  for (const std::string &dtype : options.dtypes) arguments.push_back("--dtype=" + dtype);
  for (const std::uint32_t threads : options.conditions.threads) {
    arguments.push_back(fmt::format("--threads={}", threads));
  }
  if (options.conditions.is_deterministic) arguments.emplace_back("--deterministic");
  if (!options.corpus.empty()) arguments.push_back("--corpus=" + options.corpus);
  return arguments;
}

void extend_corpus(const CompareOptions &options, const Report &report) {
  std::vector<std::string> lines;
  for (const OperationRecord &record : report.operations) {
    if (!record.has_failed()) continue;
    const Failure &failure = *record.failure;
    const std::string &name = failure.smallest.empty() ? failure.case_name : failure.smallest;
    // A row that proves nothing has no case.
    if (!parse_selector(name).picks_cases()) continue;
    lines.push_back(corpus_line(name, options.selection.seed, options.selection.size));
  }
  if (!lines.empty()) add_to_corpus(options.corpus, lines);
}

int compare(const CompareOptions &options) {
  std::ofstream junit;
  if (!options.junit.empty()) {
    junit.open(options.junit);
    if (!junit) throw std::invalid_argument("--junit: cannot write " + options.junit);
  }
  const auto started = std::chrono::steady_clock::now();
  const std::vector<std::string> names = participants(options.backends);
  Report report;
  report.seed = options.selection.seed;
  report.size = options.size;
  report.conditions = options.conditions;
  report.is_isolated = options.isolate;
  {
    Progress progress;
    if (options.isolate) {
      compare_isolated(
          {names, options.selection.arguments, options.time_limit}, options.selection,
          options.conditions, [&](const std::string &row) { progress.show(row); }, report);
    } else {
      compare_here(options, names, progress, report);
    }
  }
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  // What was asked for by name must open; so must the baseline that was not.
  const bool is_baseline_missing =
      std::any_of(report.unusable.begin(), report.unusable.end(),
                  [&](const UnusableBackend &entry) { return entry.name == names[0]; });
  if (!report.unusable.empty() && (!options.backends.empty() || is_baseline_missing)) {
    for (const UnusableBackend &entry : report.unusable) {
      fmt::print(stderr, "error: {}: {}\n", entry.name, entry.reason);
    }
    return exit_unavailable;
  }
  options.json ? print_json(to_json(report)) : print_text(report);
  if (junit.is_open()) junit << junit_text(report);
  if (!options.corpus.empty()) extend_corpus(options, report);
  if (report.failed_rows() > 0) return exit_failure;
  return report.compared_cases() == 0 ? exit_nothing_compared : exit_success;
}

}  // namespace

const std::vector<std::string> &compare_dtypes() {
  static const std::vector<std::string> names = {dtype_name(TL_FLOAT32), dtype_name(TL_FLOAT64),
                                                 dtype_name(TL_ENCODED)};
  return names;
}

int run_compare(CompareOptions options) {
  // Before the core reads its environment: garbage and inaccessible pages around host memory.
  setenv("TORCHLEAN_GUARD", "1", 0);
  try {
    complete_selection(options);
    options.selection.arguments = worker_arguments(options);
    if (options.role == CompareRole::direct) {
      return run_direct_worker(options.backends.at(0), options.selection, options.after_case);
    }
    if (options.role == CompareRole::worker) {
      return run_worker(options.backends, options.selection, options.conditions);
    }
    return compare(options);
  } catch (const std::invalid_argument &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return exit_usage;
  }
}

}  // namespace torchlean::tools
