// Prints the record of a comparison as text.
#include "compare/record.hpp"

#include "common/console.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace torchlean::tools {
namespace {

std::string masks(const OperationRecord &record) {
  const std::uint64_t wrong =
      record.nan_mismatches + record.infinity_mismatches + record.zero_sign_mismatches;
  if (wrong == 0) return "agree";
  return fmt::format("NaN {}, Inf {}, zero sign {}", record.nan_mismatches,
                     record.infinity_mismatches, record.zero_sign_mismatches);
}

// What is left of the budget.
std::string margin(const OperationRecord &record) {
  if (record.is_exact) return "exact";
  return record.budget_used > 1 ? "over" : fmt::format("{:.0f} %", 100 * (1 - record.budget_used));
}

std::string counted(std::uint64_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Samples that prove nothing (rule T5).
std::string idle(const OperationRecord &record) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char *what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(record.empty, "empty");
  add(record.all_zero, "zero");
  add(record.all_nan, "NaN");
  add(record.replayed, "replayed");
  return text.empty() ? "-" : text;
}

std::vector<std::string> row_of(const OperationRecord &record) {
  std::vector<std::string> cells = {record.operation, record.dtype, record.backend};
  if (!record.skipped.empty()) {
    cells.insert(cells.end(), 8, "-");
    cells.push_back("skipped: " + record.skipped);
    return cells;
  }
  cells.insert(cells.end(),
               {fmt::format("{}", record.cases), fmt::format("{}", record.proving), idle(record),
                fmt::format("{}", record.refusals), masks(record),
                fmt::format("{}", record.largest_ulp), fmt::format("{:.2g}", record.mean_ulp()),
                margin(record), record.has_failed() ? "FAILED" : "ok"});
  return cells;
}

void print_failure(const OperationRecord &record) {
  fmt::print("\n{}\n",
             coloured(fmt::format("FAILED {} on {}", record.failure->case_name, record.backend),
                      Colour::red));
  Table details;
  for (const auto &[label, text] : failure_lines(record)) details.add({label, text});
  fmt::print("{}", details.text("  "));
}

std::string conditions_text(const Report &report) {
  const Conditions &conditions = report.conditions;
  std::string text = fmt::format("{}, size {}", report.seed, report.size);
  if (conditions.repeat > 1) text += fmt::format(", {} repetitions", conditions.repeat);
  if (!conditions.threads.empty()) {
    text += fmt::format(", threads {}", fmt::join(conditions.threads, " and "));
  }
  if (conditions.is_deterministic) text += ", deterministic";
  if (report.is_isolated) text += ", isolated";
  return text;
}

}  // namespace

std::string describe(const Participant &participant) {
  return fmt::format("{} {}{}, {}", participant.name, participant.info.version,
                     participant.info.library.empty() ? "" : " on " + participant.info.library,
                     participant.info.device);
}

std::vector<std::pair<std::string, std::string>> failure_lines(const OperationRecord &record) {
  const Failure &failure = *record.failure;
  std::vector<std::pair<std::string, std::string>> lines;
  const auto add = [&](const char *label, const std::string &text) {
    if (!text.empty()) lines.emplace_back(label, text);
  };
  add("reason", failure.reason);
  add("place", failure.place);
  add("expected", failure.expected);
  add("got", failure.got);
  for (const std::string &input : failure.inputs) add("input", input);
  add("budget", record.budget);
  add("wrong", fmt::format("{} in {} of {}", counted(record.wrong_elements, "element"),
                           record.failed_cases, counted(record.cases, "case")));
  add("replay", failure.replay);
  add("smallest", failure.replay_smallest);
  return lines;
}

void print_text(const Report &report) {
  if (report.baseline) fmt::print("baseline  {}\n", describe(*report.baseline));
  for (const Participant &other : report.others) fmt::print("against   {}\n", describe(other));
  for (const UnusableBackend &entry : report.unusable) {
    fmt::print("without   {}: {}\n", entry.name, entry.reason);
  }
  fmt::print("seed      {}\n\n", conditions_text(report));

  Table table;
  table.add({"operation", "dtype", "backend", "cases", "proving", "void", "refused", "masks", "ulp",
             "mean ulp", "margin", "result"},
            Colour::bold);
  for (const OperationRecord &record : report.operations) {
    table.add(row_of(record), record.has_failed()       ? Colour::red
                              : !record.skipped.empty() ? Colour::yellow
                                                        : Colour::none);
  }
  fmt::print("{}", table.text());
  for (const OperationRecord &record : report.operations) {
    if (record.has_failed()) print_failure(record);
  }
  if (const std::vector<std::string> names = uncompared_operations(); !names.empty()) {
    fmt::print("\nwithout cases so far, not compared: {}\n", fmt::join(names, " "));
  }
  const std::uint64_t failed = report.failed_rows();
  const std::uint64_t cases = report.compared_cases();
  const std::string result =
      failed == 0 ? "all agree" : counted(failed, "row") + " of the table failed";
  const std::string summary =
      cases == 0 && failed == 0
          ? "nothing was compared"
          : fmt::format("{} in {:.1f} s, {}", counted(cases, "case"), report.seconds, result);
  fmt::print("\n{}\n", coloured(summary, failed == 0 && cases > 0 ? Colour::green : Colour::red));
}

}  // namespace torchlean::tools
