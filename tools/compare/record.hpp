// The record of a comparison: console text, JSON and JUnit are made from it (rule T9).
#pragma once

#include "compare/runner.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torchlean::tools {

// The worst that happened in one operation on one backend.
struct Failure {
  std::string case_name;
  std::string reason;
  // Of a wrong element; empty where the case is wrong as a whole.
  std::string place;     // "output 0, element 17"
  std::string expected;  // value and bits
  std::string got;
  std::vector<std::string> inputs;  // "input 1, element 17: 0.5 (0x3f000000)"
  std::string replay;               // a command that runs just this case
  std::string smallest;             // the smallest case found that fails too, or empty
  std::string replay_smallest;      // a command that runs that one
  double severity = 0;
};

// One operation and dtype, one backend against the baseline.
struct OperationRecord {
  std::string operation;
  std::string dtype;
  std::string backend;
  std::string budget;
  std::string why;        // the budget is what it is
  bool is_exact = false;  // bit for bit, so that no budget can be used up
  std::string skipped;    // why it was not compared; empty if it was
  std::uint64_t cases = 0;
  std::uint64_t proving = 0;
  std::uint64_t empty = 0;
  std::uint64_t all_zero = 0;
  std::uint64_t all_nan = 0;
  std::uint64_t replayed = 0;
  std::uint64_t refusals = 0;  // cases of wrong arguments
  std::uint64_t elements = 0;
  std::uint64_t unchecked = 0;
  std::uint64_t nan_mismatches = 0;
  std::uint64_t infinity_mismatches = 0;
  std::uint64_t zero_sign_mismatches = 0;
  std::uint64_t wrong_elements = 0;
  std::uint64_t failed_cases = 0;
  std::uint64_t largest_ulp = 0;
  double ulp_total = 0;  // over `measured` elements: finite on both sides
  std::uint64_t measured = 0;
  double budget_used = 0;
  std::optional<Failure> failure;

  bool has_failed() const { return failure.has_value(); }
  double mean_ulp() const { return measured == 0 ? 0 : ulp_total / static_cast<double>(measured); }
};

struct Participant {
  std::string name;  // as asked for
  BackendInfo info;
};

// "libtorch 0.1.0 on LibTorch 2.15.0, CPU"
std::string describe(const Participant &participant);

struct UnusableBackend {
  std::string name;
  std::string reason;
};

struct Report {
  std::uint64_t seed = 0;
  std::string size;
  Conditions conditions;
  bool is_isolated = false;
  std::optional<Participant> baseline;
  std::vector<Participant> others;
  std::vector<UnusableBackend> unusable;
  std::vector<OperationRecord> operations;
  double seconds = 0;

  std::uint64_t compared_cases() const;
  std::uint64_t failed_rows() const;
};

nlohmann::ordered_json to_json(const Report &report);

// Operations that have no cases yet, so that no backend is judged on them.
std::vector<std::string> uncompared_operations();

// Parts of the record on their way between processes. Reading throws nlohmann::json::exception.
nlohmann::ordered_json to_json(const OperationRecord &record);
nlohmann::ordered_json to_json(const Participant &participant);
OperationRecord record_from(const nlohmann::ordered_json &json);
Participant participant_from(const nlohmann::ordered_json &json);

void print_text(const Report &report);

// Label and text of every line that explains the record's failure.
std::vector<std::pair<std::string, std::string>> failure_lines(const OperationRecord &record);

// What a CI server reads: one test suite per backend, one test case per operation and dtype.
std::string junit_text(const Report &report);

}  // namespace torchlean::tools
