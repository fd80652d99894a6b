// The comparison itself.
#include "compare/engine.hpp"

#include "compare/judge.hpp"
#include "compare/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace torchlean::tools {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t most_inputs_shown = 6;

bool is_case_pattern(const std::string &pattern) { return pattern.find('/') != std::string::npos; }

class Comparison {
 public:
  Comparison(const std::vector<OpenedBackend> &backends, const Selection &selection)
      : backends_(backends),
        selection_(selection),
        is_reference_(backends[0].backend->info().name == "reference") {}

  void compare_operation(tl_operation number, const tl_operation_info &info, Report &report);

 private:
  struct Result {
    Outcome outcome;
    std::string error;  // empty if the call succeeded
  };

  static Result run(const Operation &row, const Case &one, const Backend &backend);
  std::vector<OperationRecord> make_records(tl_operation number, const Operation &row,
                                            tl_dtype dtype) const;
  void compare_case(const Operation &row, const Case &one,
                    std::vector<OperationRecord> &records) const;
  void compare_outcomes(const Operation &row, const Case &one, const Result &expected,
                        const Result &got, OperationRecord &record) const;
  void fail(OperationRecord &record, const Case &one, Failure failure) const;
  Failure failure_of(const Operation &row, const Case &one, const Verdict &verdict) const;

  const std::vector<OpenedBackend> &backends_;
  const Selection &selection_;
  bool is_reference_;
};

Comparison::Result Comparison::run(const Operation &row, const Case &one, const Backend &backend) {
  const ThreadBackend guard(backend);
  try {
    return {row.run(one), ""};
  } catch (const Error &error) {
    return {{}, fmt::format("{}: {}", tl_status_name(error.status()), error.what())};
  }
}

std::vector<OperationRecord> Comparison::make_records(tl_operation number, const Operation &row,
                                                      tl_dtype dtype) const {
  std::vector<OperationRecord> records;
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    OperationRecord record;
    record.operation = row.name;
    record.dtype = dtype_name(dtype);
    record.backend = backends_[i].name;
    record.budget = row.budget;
    record.is_exact = row.rule != Rule::bounded;
    if (!backends_[0].backend->supports(number, dtype)) {
      record.skipped = fmt::format("not in {}", backends_[0].name);
    } else if (!backends_[i].backend->supports(number, dtype)) {
      record.skipped = "not supported";
    }
    records.push_back(std::move(record));
  }
  return records;
}

void Comparison::compare_operation(tl_operation number, const tl_operation_info &info,
                                   Report &report) {
  const Operation *row = find_operation(info.name);
  if (row == nullptr) return;
  for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
    const auto &wanted = selection_.dtypes;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), dtype) == wanted.end()) continue;
    // Where nobody has the operation for a dtype, that is no gap worth a line.
    const bool anybody = std::any_of(
        backends_.begin(), backends_.end(),
        [&](const OpenedBackend &entry) { return entry.backend->supports(number, dtype); });
    if (!anybody) continue;

    std::vector<OperationRecord> records = make_records(number, *row, dtype);
    if (std::any_of(records.begin(), records.end(),
                    [](const OperationRecord &record) { return record.skipped.empty(); })) {
      Generator generator(
          {row->name, dtype, selection_.seed, selection_.size,
           [&](const std::string &name) { return selection_.wants_case(row->name, name); },
           [&](const Case &one) { compare_case(*row, one, records); }});
      row->cases(generator);
    }
    for (OperationRecord &record : records) {
      const bool was_compared = record.skipped.empty();
      if (was_compared && record.cases == 0) continue;  // no case of this name or dtype
      if (was_compared && row->needs_proof && record.proving == 0 && !selection_.picks_cases() &&
          !record.has_failed()) {
        record.failure.emplace();
        record.failure->case_name = fmt::format("{}/{}", record.operation, record.dtype);
        record.failure->reason =
            "no sample proves anything: all expected results are empty, zero or NaN";
        record.failure->severity = infinity;
      }
      if (was_compared || !selection_.picks_cases()) report.operations.push_back(std::move(record));
    }
  }
}

void Comparison::compare_case(const Operation &row, const Case &one,
                              std::vector<OperationRecord> &records) const {
  const Result expected = run(row, one, *backends_[0].backend);
  for (std::size_t i = 1; i < backends_.size(); ++i) {
    OperationRecord &record = records[i - 1];
    if (!record.skipped.empty()) continue;
    compare_outcomes(row, one, expected, run(row, one, *backends_[i].backend), record);
  }
}

void Comparison::compare_outcomes(const Operation &row, const Case &one, const Result &expected,
                                  const Result &got, OperationRecord &record) const {
  ++record.cases;
  if (!expected.error.empty() || !got.error.empty()) {
    const bool baseline = !expected.error.empty();
    Failure failure;
    failure.reason = fmt::format("{} failed: {}", baseline ? backends_[0].name : record.backend,
                                 baseline ? expected.error : got.error);
    failure.severity = infinity;
    fail(record, one, std::move(failure));
    return;
  }
  Outcome judged = expected.outcome;
  judged.replay = judged.replay || got.outcome.replay;
  switch (proof_of(judged)) {
    case Proof::proving: ++record.proving; break;
    case Proof::empty: ++record.empty; break;
    case Proof::all_zero: ++record.all_zero; break;
    case Proof::all_nan: ++record.all_nan; break;
    case Proof::replayed: ++record.replayed; break;
  }
  const Verdict verdict = judge(row, one, expected.outcome, got.outcome, is_reference_);
  record.elements += verdict.elements;
  record.unchecked += verdict.unchecked;
  record.nan_mismatches += verdict.nan_mismatches;
  record.infinity_mismatches += verdict.infinity_mismatches;
  record.zero_sign_mismatches += verdict.zero_sign_mismatches;
  record.wrong_elements += verdict.wrong;
  record.largest_ulp = std::max(record.largest_ulp, verdict.largest_ulp);
  record.budget_used = std::max(record.budget_used, verdict.budget_used);
  if (!verdict.is_good()) fail(record, one, failure_of(row, one, verdict));
}

// Keeps the worst failure of the operation.
void Comparison::fail(OperationRecord &record, const Case &one, Failure failure) const {
  ++record.failed_cases;
  if (record.failure && record.failure->severity >= failure.severity) return;
  failure.case_name = one.name();
  failure.replay = fmt::format(
      "torchlean compare --backends '{},{}' --ops '{}' --seed {} --size {}", backends_[0].name,
      record.backend, one.name(), selection_.seed, size_name(selection_.size));
  record.failure = std::move(failure);
}

Failure Comparison::failure_of(const Operation &row, const Case &one,
                               const Verdict &verdict) const {
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
  const Terms terms = row.terms(one, worst.place);
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

bool Selection::wants_operation(const std::string &name) const {
  if (patterns.empty()) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string &pattern) {
    return matches(pattern.substr(0, pattern.find('/')), name);
  });
}

bool Selection::wants_case(const std::string &operation, const std::string &case_name) const {
  if (patterns.empty()) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string &pattern) {
    return matches(pattern, is_case_pattern(pattern) ? case_name : operation);
  });
}

bool Selection::picks_cases() const {
  return std::any_of(patterns.begin(), patterns.end(), is_case_pattern);
}

const char *size_name(Size size) {
  static constexpr std::array names = {"small", "default", "large"};
  return names[static_cast<std::size_t>(size)];
}

Report compare_backends(const std::vector<OpenedBackend> &backends, const Selection &selection,
                        const std::function<void(const std::string &)> &progress) {
  Report report;
  report.seed = selection.seed;
  report.size = size_name(selection.size);
  report.baseline = Participant{backends[0].name, backends[0].backend->info()};
  for (std::size_t i = 1; i < backends.size(); ++i) {
    report.others.push_back({backends[i].name, backends[i].backend->info()});
  }
  Comparison comparison(backends, selection);
  const std::vector<tl_operation_info> table = operations();
  for (tl_operation number = 0; number < table.size(); ++number) {
    if (!selection.wants_operation(table[number].name)) continue;
    progress(table[number].name);
    comparison.compare_operation(number, table[number], report);
  }
  return report;
}

}  // namespace torchlean::tools
