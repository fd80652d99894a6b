// The record of a comparison: console text and JSON are made from it.
#pragma once

#include <torchlean/runtime.hpp>

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
  double severity = 0;
};

// One operation and dtype, one backend against the baseline.
struct OperationRecord {
  std::string operation;
  std::string dtype;
  std::string backend;
  std::string budget;
  bool is_exact = false;  // bit for bit, so that no budget can be used up
  std::string skipped;    // why it was not compared; empty if it was
  std::uint64_t cases = 0;
  std::uint64_t proving = 0;
  std::uint64_t empty = 0;
  std::uint64_t all_zero = 0;
  std::uint64_t all_nan = 0;
  std::uint64_t replayed = 0;
  std::uint64_t elements = 0;
  std::uint64_t unchecked = 0;
  std::uint64_t nan_mismatches = 0;
  std::uint64_t infinity_mismatches = 0;
  std::uint64_t zero_sign_mismatches = 0;
  std::uint64_t wrong_elements = 0;
  std::uint64_t failed_cases = 0;
  std::uint64_t largest_ulp = 0;
  double budget_used = 0;
  std::optional<Failure> failure;

  bool has_failed() const { return failure.has_value(); }
};

struct Participant {
  std::string name;  // as asked for
  BackendInfo info;
};

struct UnusableBackend {
  std::string name;
  std::string reason;
};

struct Report {
  std::uint64_t seed = 0;
  std::string size;
  std::optional<Participant> baseline;
  std::vector<Participant> others;
  std::vector<UnusableBackend> unusable;
  std::vector<OperationRecord> operations;
  double seconds = 0;

  std::uint64_t compared_cases() const;
  bool has_failed() const;
};

nlohmann::ordered_json to_json(const Report &report);

void print_text(const Report &report);

}  // namespace torchlean::tools
