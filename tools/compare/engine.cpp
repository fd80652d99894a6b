// The comparison itself.
#include "compare/engine.hpp"

#include "compare/direct/cases.hpp"
#include "compare/direct/worker.hpp"
#include "compare/judge.hpp"
#include "compare/rows.hpp"
#include "compare/shrink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace torchlean::tools {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t most_inputs_shown = 6;
constexpr Clock::duration shrink_time = 1s;       // for one row
constexpr Clock::duration all_shrink_time = 15s;  // a backend may fail in every row

// A record in the making.
struct Entry {
  OperationRecord record;
  const OpenedBackend *backend = nullptr;
  std::optional<Case> worst;  // the case of its failure, if it can be made smaller
};

class Comparison {
 public:
  Comparison(const std::vector<OpenedBackend> &backends, const Selection &selection,
             const Conditions &conditions, const Observer &observer)
      : backends_(backends),
        selection_(selection),
        conditions_(conditions),
        observer_(observer),
        setting_{backends[0].backend->info().name == "reference", conditions.is_deterministic} {
    for (const OpenedBackend &entry : backends_) {
      judges_.emplace_back(entry.backend->info().path, selection);
    }
  }

  void compare(const Row &row);

 private:
  std::vector<Entry> make_entries(const Row &row) const;
  Result run(const Row &row, const Case &one, const OpenedBackend &backend) const;
  void compare_case(const Row &row, const Case &one, std::vector<Entry> &entries) const;
  void refuse_case(const Row &row, const Case &one, std::vector<Entry> &entries) const;
  void judge_directly(const Row &row, Entry &entry);
  void compare_results(const Row &row, const Case &one, const Result &expected, const Result &got,
                       Entry &entry) const;
  void finish(const Row &row, Entry &entry);
  void shrink_failure(const Row &row, Entry &entry);
  void fail(Entry &entry, const Case &one, Failure failure) const;
  void fail_as_whole(Entry &entry, const Case &one, std::string reason) const;
  static Failure failure_of(const Operation &operation, const Case &one, const Verdict &verdict);
  std::string replay(const Entry &entry, const std::string &case_name) const {
    return replay_command(selection_, conditions_, backends_[0].name, entry.record.backend,
                          case_name);
  }

  const std::vector<OpenedBackend> &backends_;
  const Selection &selection_;
  const Conditions &conditions_;
  const Observer &observer_;
  const Setting setting_;
  std::vector<DirectJudge> judges_;  // of each backend
  Clock::duration shrink_time_left_ = all_shrink_time;
};

void Comparison::compare(const Row &row) {
  observer_.row_begins(row.name());
  std::vector<Entry> entries = make_entries(row);
  if (std::any_of(entries.begin(), entries.end(),
                  [](const Entry &entry) { return entry.record.skipped.empty(); })) {
    for_each_case(row, selection_, [&](const Case &one) {
      if (one.must_be_refused) {
        refuse_case(row, one, entries);
      } else {
        compare_case(row, one, entries);
      }
    });
  }
  // Where nobody has the operation for a dtype, that is no gap worth a line.
  const bool anybody = std::any_of(
      backends_.begin(), backends_.end(),
      [&](const OpenedBackend &entry) { return entry.backend->supports(row.number, row.dtype); });
  for (Entry &entry : entries) {
    judge_directly(row, entry);
    if (anybody || entry.record.has_failed()) finish(row, entry);
  }
}

std::vector<Entry> Comparison::make_entries(const Row &row) const {
  std::vector<Entry> entries;
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    OperationRecord record;
    record.operation = row.operation->name;
    record.dtype = dtype_name(row.dtype);
    record.backend = backends_[i].name;
    record.is_exact = rule_of(*row.operation, Case{}, setting_) != Rule::bounded;
    record.budget = row.operation->budget;
    record.why = budget_reason(*row.operation);
    if (record.is_exact && row.operation->rule == Rule::bounded) {
      record.budget = "the same bits, in deterministic mode";
      record.why = "the order of additions is prescribed there";
    }
    if (!backends_[0].backend->supports(row.number, row.dtype)) {
      record.skipped = fmt::format("not in {}", backends_[0].name);
    } else if (!backends_[i].backend->supports(row.number, row.dtype)) {
      record.skipped = "not supported";
    }
    entries.push_back({std::move(record), &backends_[i], std::nullopt});
  }
  return entries;
}

Result Comparison::run(const Row &row, const Case &one, const OpenedBackend &backend) const {
  return run_case(*row.operation, one, *backend.backend, conditions_);
}

void Comparison::compare_case(const Row &row, const Case &one, std::vector<Entry> &entries) const {
  observer_.case_begins(one.name(), backends_[0].name);
  const Result expected = run(row, one, backends_[0]);
  for (Entry &entry : entries) {
    if (!entry.record.skipped.empty()) continue;
    observer_.case_begins(one.name(), entry.backend->name);
    compare_results(row, one, expected, run(row, one, *entry.backend), entry);
  }
}

void Comparison::refuse_case(const Row &row, const Case &one, std::vector<Entry> &entries) const {
  for (Entry &entry : entries) {
    if (!entry.record.skipped.empty()) continue;
    observer_.case_begins(one.name(), entry.backend->name);
    ++entry.record.cases;
    ++entry.record.refusals;
    std::string reason = run_refusal(*row.operation, one, *entry.backend->backend);
    if (!reason.empty()) fail_as_whole(entry, one, std::move(reason));
  }
}

// What the backend must refuse itself, and whether what it says of itself is so, is tried at its
// table.
void Comparison::judge_directly(const Row &row, Entry &entry) {
  const bool asks =
      row.is_whole ||
      std::any_of(row.selectors.begin(), row.selectors.end(), [](const Selector *selector) {
        return !selector->literal && matches(selector->parts[1], direct_kind);
      });
  if (!asks) return;
  OperationRecord &record = entry.record;
  DirectJudge &judge = judges_[static_cast<std::size_t>(entry.backend - backends_.data())];
  for (const DirectJudge::Result &result : judge.results(row, [&](const std::string &name) {
         observer_.case_begins(name, entry.backend->name);
       })) {
    // What is not there in it needs no more than its refusal: no line, unless that fails.
    if (!record.skipped.empty() && result.reason.empty()) continue;
    record.skipped.clear();
    ++record.cases;
    ++record.refusals;
    if (result.reason.empty()) continue;
    Case named = direct_case(row, result.label);
    named.must_be_refused = true;  // it cannot be made smaller
    fail_as_whole(entry, named, result.reason);
  }
}

void Comparison::compare_results(const Row &row, const Case &one, const Result &expected,
                                 const Result &got, Entry &entry) const {
  OperationRecord &record = entry.record;
  ++record.cases;
  if (!expected.error.empty() || !got.error.empty()) {
    const bool is_baseline = !expected.error.empty();
    fail_as_whole(entry, one,
                  fmt::format("{}: {}", is_baseline ? backends_[0].name : record.backend,
                              is_baseline ? expected.error : got.error));
    return;
  }
  Outcome judged = expected.outcomes[0];
  judged.replay = judged.replay || got.outcomes[0].replay;
  switch (proof_of(judged)) {
    case Proof::proving: ++record.proving; break;
    case Proof::empty: ++record.empty; break;
    case Proof::all_zero: ++record.all_zero; break;
    case Proof::all_nan: ++record.all_nan; break;
    case Proof::replayed: ++record.replayed; break;
  }
  for (const Outcome &outcome : got.outcomes) {
    const Verdict verdict = judge(*row.operation, one, expected.outcomes[0], outcome, setting_);
    record.elements += verdict.elements;
    record.unchecked += verdict.unchecked;
    record.nan_mismatches += verdict.nan_mismatches;
    record.infinity_mismatches += verdict.infinity_mismatches;
    record.zero_sign_mismatches += verdict.zero_sign_mismatches;
    record.wrong_elements += verdict.wrong;
    record.largest_ulp = std::max(record.largest_ulp, verdict.largest_ulp);
    record.ulp_total += verdict.ulp_total;
    record.measured += verdict.measured;
    record.budget_used = std::max(record.budget_used, verdict.budget_used);
    if (!verdict.is_good()) fail(entry, one, failure_of(*row.operation, one, verdict));
  }
}

void Comparison::finish(const Row &row, Entry &entry) {
  OperationRecord &record = entry.record;
  if (record.skipped.empty()) {
    if (record.cases == 0) return;  // no case of this name or dtype
    if (row.is_whole && row.operation->needs_proof && record.proving == 0 && !record.has_failed()) {
      record.failure.emplace();
      record.failure->case_name = row.name();
      record.failure->reason =
          "no sample proves anything: all expected results are empty, zero or NaN";
      record.failure->severity = infinity;
    }
  } else if (!row.is_whole) {
    return;
  }
  observer_.record_made(record);
  if (entry.worst && shrink_time_left_ > 0s) {
    shrink_failure(row, entry);
    observer_.record_made(record);
  }
}

void Comparison::shrink_failure(const Row &row, Entry &entry) {
  const bool is_element = !entry.record.failure->place.empty();
  const auto still_fails = [&](const Case &candidate) {
    const Result expected = run(row, candidate, backends_[0]);
    if (!expected.error.empty()) return false;
    Entry scratch{entry.record, entry.backend, std::nullopt};
    scratch.record.failure.reset();
    compare_results(row, candidate, expected, run(row, candidate, *entry.backend), scratch);
    return scratch.record.has_failed() && scratch.record.failure->place.empty() != is_element;
  };
  const Clock::time_point started = Clock::now();
  const Case smallest = shrink(*row.operation, *entry.worst, still_fails,
                               started + std::min(shrink_time, shrink_time_left_));
  shrink_time_left_ -= Clock::now() - started;
  // What fails now and then only cannot be replayed from its inputs alone.
  if (!still_fails(smallest)) return;
  entry.record.failure->smallest = smallest.name();
  entry.record.failure->replay_smallest = replay(entry, smallest.name());
}

// Keeps the worst failure of the operation.
void Comparison::fail(Entry &entry, const Case &one, Failure failure) const {
  OperationRecord &record = entry.record;
  ++record.failed_cases;
  if (record.failure && record.failure->severity >= failure.severity) return;
  failure.case_name = one.name();
  failure.replay = replay(entry, one.name());
  record.failure = std::move(failure);
  entry.worst.reset();
  if (!one.must_be_refused && one.kind != literal_kind) entry.worst = one;
}

void Comparison::fail_as_whole(Entry &entry, const Case &one, std::string reason) const {
  Failure failure;
  failure.reason = std::move(reason);
  failure.severity = infinity;
  fail(entry, one, std::move(failure));
}

Failure Comparison::failure_of(const Operation &operation, const Case &one,
                               const Verdict &verdict) {
  Failure failure;
  if (!verdict.complaint.empty()) {
    failure.reason = verdict.complaint;
    failure.severity = infinity;
    return failure;
  }
  const Mismatch &worst = *verdict.worst;
  failure.reason = worst.reason;
  failure.severity = worst.severity;
  failure.place = fmt::format("output {}, element {}", worst.place.output, worst.place.index);
  failure.expected = describe(worst.dtype, worst.expected);
  failure.got = describe(worst.dtype, worst.got);
  const Terms terms = operation.terms(one, worst.place);
  for (std::size_t k = 0; k < std::min(terms.size(), most_inputs_shown); ++k) {
    const auto [input, index] = terms[k];
    failure.inputs.push_back(
        fmt::format("{}, element {}: {}", input, index,
                    describe(one.inputs[input].dtype, one.inputs[input].bits[index])));
  }
  if (terms.size() > most_inputs_shown) {
    failure.inputs.push_back(fmt::format("and {} more", terms.size() - most_inputs_shown));
  }
  if (!one.scalars.empty()) {
    failure.inputs.push_back(fmt::format("scalars {}", fmt::join(one.scalars, ", ")));
  }
  return failure;
}

}  // namespace

void compare_backends(const std::vector<OpenedBackend> &backends, const Selection &selection,
                      const Conditions &conditions, const Observer &observer) {
  const ThreadBackend guard(*backends[0].backend);
  set_setting(TL_SETTING_DETERMINISTIC, conditions.is_deterministic);
  Comparison comparison(backends, selection, conditions, observer);
  bool is_done = !selection.after.empty();
  for (const Row &row : rows_of(selection)) {
    if (!is_done) comparison.compare(row);
    if (row.name() == selection.after) is_done = false;
  }
}

Participant participant_of(const OpenedBackend &backend) {
  return {backend.name, backend.backend->info()};
}

std::string replay_command(const Selection &selection, const Conditions &conditions,
                           const std::string &baseline, const std::string &backend,
                           const std::string &case_name) {
  std::string command =
      fmt::format("torchlean compare --backends '{},{}' --ops '{}' --seed {} --size {}", baseline,
                  backend, case_name, selection.seed, size_name(selection.size));
  if (conditions.repeat > 1) command += fmt::format(" --repeat {}", conditions.repeat);
  if (!conditions.threads.empty()) {
    command += fmt::format(" --threads {}", fmt::join(conditions.threads, ","));
  }
  if (conditions.is_deterministic) command += " --deterministic";
  return command;
}

}  // namespace torchlean::tools
