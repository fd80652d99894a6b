// Prints the record of a comparison.
#include "compare/record.hpp"

#include "common/console.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace torchlean::tools {
namespace {

nlohmann::ordered_json to_json(const Participant &participant) {
  return {{"name", participant.name},
          {"backend", participant.info.name},
          {"version", participant.info.version},
          {"library", participant.info.library},
          {"device", participant.info.device},
          {"path", participant.info.path}};
}

// JSON has no infinity.
nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json("infinite");
}

nlohmann::ordered_json to_json(const Failure &failure) {
  return {{"case", failure.case_name}, {"reason", failure.reason},
          {"place", failure.place},    {"expected", failure.expected},
          {"got", failure.got},        {"inputs", failure.inputs},
          {"replay", failure.replay},  {"severity", number(failure.severity)}};
}

nlohmann::ordered_json to_json(const OperationRecord &record) {
  return {{"operation", record.operation},
          {"dtype", record.dtype},
          {"backend", record.backend},
          {"budget", record.budget},
          {"skipped", record.skipped},
          {"cases", record.cases},
          {"proving", record.proving},
          {"empty", record.empty},
          {"all_zero", record.all_zero},
          {"all_nan", record.all_nan},
          {"replayed", record.replayed},
          {"elements", record.elements},
          {"unchecked", record.unchecked},
          {"nan_mismatches", record.nan_mismatches},
          {"infinity_mismatches", record.infinity_mismatches},
          {"zero_sign_mismatches", record.zero_sign_mismatches},
          {"wrong_elements", record.wrong_elements},
          {"failed_cases", record.failed_cases},
          {"largest_ulp", record.largest_ulp},
          {"budget_used", number(record.budget_used)},
          {"failure", record.failure ? to_json(*record.failure) : nlohmann::ordered_json()}};
}

std::string describe(const Participant &participant) {
  return fmt::format("{} {}{}, {}", participant.name, participant.info.version,
                     participant.info.library.empty() ? "" : " on " + participant.info.library,
                     participant.info.device);
}

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

std::vector<std::string> row_of(const OperationRecord &record) {
  if (!record.skipped.empty()) {
    return {record.operation,
            record.dtype,
            record.backend,
            "-",
            "-",
            "-",
            "-",
            "-",
            "skipped: " + record.skipped};
  }
  return {record.operation,
          record.dtype,
          record.backend,
          fmt::format("{}", record.cases),
          fmt::format("{}", record.proving),
          masks(record),
          fmt::format("{}", record.largest_ulp),
          margin(record),
          record.has_failed() ? "FAILED" : "ok"};
}

void print_failure(const OperationRecord &record) {
  const Failure &failure = *record.failure;
  fmt::print("\n{}\n", coloured(fmt::format("FAILED {} on {}", failure.case_name, record.backend),
                                Colour::red));
  Table details;
  const auto add = [&](const char *label, const std::string &text) {
    if (!text.empty()) details.add({label, text});
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
  fmt::print("{}", details.text("  "));
}

}  // namespace

std::uint64_t Report::compared_cases() const {
  std::uint64_t cases = 0;
  for (const OperationRecord &record : operations) cases += record.cases;
  return cases;
}

bool Report::has_failed() const {
  return std::any_of(operations.begin(), operations.end(),
                     [](const OperationRecord &record) { return record.has_failed(); });
}

nlohmann::ordered_json to_json(const Report &report) {
  nlohmann::ordered_json others = nlohmann::ordered_json::array();
  for (const Participant &participant : report.others) others.push_back(to_json(participant));
  nlohmann::ordered_json unusable = nlohmann::ordered_json::array();
  for (const UnusableBackend &entry : report.unusable) {
    unusable.push_back({{"name", entry.name}, {"reason", entry.reason}});
  }
  nlohmann::ordered_json records = nlohmann::ordered_json::array();
  for (const OperationRecord &record : report.operations) records.push_back(to_json(record));
  return {{"version", tl_version()},
          {"seed", report.seed},
          {"size", report.size},
          {"baseline", report.baseline ? to_json(*report.baseline) : nlohmann::ordered_json()},
          {"backends", others},
          {"unusable", unusable},
          {"cases", report.compared_cases()},
          {"failed", report.has_failed()},
          {"seconds", report.seconds},
          {"operations", records}};
}

void print_text(const Report &report) {
  if (report.baseline) fmt::print("baseline  {}\n", describe(*report.baseline));
  for (const Participant &other : report.others) fmt::print("against   {}\n", describe(other));
  for (const UnusableBackend &entry : report.unusable) {
    fmt::print("without   {}: {}\n", entry.name, entry.reason);
  }
  fmt::print("seed      {}, size {}\n\n", report.seed, report.size);

  Table table;
  table.add(
      {"operation", "dtype", "backend", "cases", "proving", "masks", "ulp", "margin", "result"},
      Colour::bold);
  for (const OperationRecord &record : report.operations) {
    table.add(row_of(record), record.has_failed()       ? Colour::red
                              : !record.skipped.empty() ? Colour::yellow
                                                        : Colour::none);
  }
  fmt::print("{}", table.text());
  std::uint64_t failed = 0;
  for (const OperationRecord &record : report.operations) {
    if (!record.has_failed()) continue;
    ++failed;
    print_failure(record);
  }
  const std::string summary =
      report.compared_cases() == 0
          ? "nothing was compared"
          : fmt::format(
                "{} in {:.1f} s, {}", counted(report.compared_cases(), "case"), report.seconds,
                failed == 0 ? "all agree" : counted(failed, "row") + " of the table failed");
  fmt::print("\n{}\n", coloured(summary, failed == 0 ? Colour::green : Colour::red));
}

}  // namespace torchlean::tools
