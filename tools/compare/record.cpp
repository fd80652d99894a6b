// The record as JSON, and back.
#include "compare/record.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

// The members of a part, for both directions: visit(name, member).
template <class Part, class Visit>
void visit_members(Part &part, Visit visit) {
  using Plain = std::remove_const_t<Part>;
  if constexpr (std::is_same_v<Plain, Failure>) {
    visit("case", part.case_name);
    visit("reason", part.reason);
    visit("place", part.place);
    visit("expected", part.expected);
    visit("got", part.got);
    visit("inputs", part.inputs);
    visit("replay", part.replay);
    visit("smallest", part.smallest);
    visit("replay_smallest", part.replay_smallest);
    visit("severity", part.severity);
  } else if constexpr (std::is_same_v<Plain, Participant>) {
    visit("name", part.name);
    visit("backend", part.info.name);
    visit("version", part.info.version);
    visit("library", part.info.library);
    visit("device", part.info.device);
    visit("path", part.info.path);
  } else {
    static_assert(std::is_same_v<Plain, OperationRecord>);
    visit("operation", part.operation);
    visit("dtype", part.dtype);
    visit("backend", part.backend);
    visit("budget", part.budget);
    visit("why", part.why);
    visit("is_exact", part.is_exact);
    visit("skipped", part.skipped);
    visit("cases", part.cases);
    visit("proving", part.proving);
    visit("empty", part.empty);
    visit("all_zero", part.all_zero);
    visit("all_nan", part.all_nan);
    visit("replayed", part.replayed);
    visit("refusals", part.refusals);
    visit("elements", part.elements);
    visit("unchecked", part.unchecked);
    visit("nan_mismatches", part.nan_mismatches);
    visit("infinity_mismatches", part.infinity_mismatches);
    visit("zero_sign_mismatches", part.zero_sign_mismatches);
    visit("wrong_elements", part.wrong_elements);
    visit("failed_cases", part.failed_cases);
    visit("largest_ulp", part.largest_ulp);
    visit("ulp_total", part.ulp_total);
    visit("measured", part.measured);
    visit("budget_used", part.budget_used);
    visit("failure", part.failure);
  }
}

template <class Part>
ordered_json write(const Part &part);
template <class Part>
Part read(const ordered_json &json);

template <class Value>
ordered_json write_value(const Value &value) {
  return value;
}
// JSON has no infinity.
ordered_json write_value(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json("infinite");
}
ordered_json write_value(const std::optional<Failure> &failure) {
  return failure ? write(*failure) : ordered_json();
}

template <class Value>
void read_value(const ordered_json &json, Value &value) {
  value = json.get<Value>();
}
void read_value(const ordered_json &json, double &value) {
  value = json.is_string() ? infinity : json.get<double>();
}
void read_value(const ordered_json &json, std::optional<Failure> &failure) {
  if (!json.is_null()) failure = read<Failure>(json);
}

template <class Part>
ordered_json write(const Part &part) {
  ordered_json json = ordered_json::object();
  visit_members(part,
                [&](const char *name, const auto &value) { json[name] = write_value(value); });
  return json;
}

template <class Part>
Part read(const ordered_json &json) {
  Part part;
  visit_members(part, [&](const char *name, auto &value) { read_value(json.at(name), value); });
  return part;
}

}  // namespace

ordered_json to_json(const OperationRecord &record) { return write(record); }
ordered_json to_json(const Participant &participant) { return write(participant); }
OperationRecord record_from(const ordered_json &json) { return read<OperationRecord>(json); }
Participant participant_from(const ordered_json &json) { return read<Participant>(json); }

std::uint64_t Report::compared_cases() const {
  std::uint64_t cases = 0;
  for (const OperationRecord &record : operations) cases += record.cases;
  return cases;
}

std::uint64_t Report::failed_rows() const {
  return static_cast<std::uint64_t>(
      std::count_if(operations.begin(), operations.end(),
                    [](const OperationRecord &record) { return record.has_failed(); }));
}

std::vector<std::string> uncompared_operations() {
  std::vector<std::string> names;
  for (const tl_operation_info &info : torchlean::operations()) {
    if (info.is_compared == 0) names.emplace_back(info.name);
  }
  return names;
}

ordered_json to_json(const Report &report) {
  ordered_json others = ordered_json::array();
  for (const Participant &participant : report.others) others.push_back(to_json(participant));
  ordered_json unusable = ordered_json::array();
  for (const UnusableBackend &entry : report.unusable) {
    unusable.push_back({{"name", entry.name}, {"reason", entry.reason}});
  }
  ordered_json records = ordered_json::array();
  for (const OperationRecord &record : report.operations) records.push_back(to_json(record));
  return {{"version", tl_version()},
          {"seed", report.seed},
          {"size", report.size},
          {"repeat", report.conditions.repeat},
          {"threads", report.conditions.threads},
          {"deterministic", report.conditions.is_deterministic},
          {"isolated", report.is_isolated},
          {"baseline", report.baseline ? to_json(*report.baseline) : ordered_json()},
          {"backends", others},
          {"unusable", unusable},
          {"cases", report.compared_cases()},
          {"failed", report.failed_rows() > 0},
          {"seconds", report.seconds},
          {"operations", records},
          {"uncompared", uncompared_operations()}};
}

}  // namespace torchlean::tools
