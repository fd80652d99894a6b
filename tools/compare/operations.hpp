// The table that the comparison is made from: for each operation its cases, its call and its
// budget.
#pragma once

#include "compare/bounds.hpp"
#include "compare/cases.hpp"

#include <string_view>
#include <vector>

namespace torchlean::tools {

// How an operation's results are held against each other.
enum class Rule {
  bits,               // the same words, NaN payloads too
  exact,              // the same bits, but any NaN matches any NaN
  exact_either_zero,  // as exact, and zeros of either sign match
  bounded             // within the row's bound; zeros of either sign match
};

// What a call gave back.
struct Outcome {
  std::vector<Array> outputs;
  bool replay = false;  // bmm_scaled: the values are unspecified
};

struct Operation {
  const char *name;  // as in operations.def
  Rule rule;
  const char *budget;  // in words, for the report
  void (*cases)(const Generator &);
  Outcome (*run)(const Case &);  // on the thread's backend; throws Error
  Bound bound = nullptr;         // of bounded operations
  TermsOf terms = same_place;    // what to show of a wrong element
  // Values that differ from zero prove the operation; false where the right result is zero.
  bool needs_proof = true;
  bool (*must_replay)(const Case &) = nullptr;
};

// In the order of operations.def; every implemented operation has a row.
const std::vector<Operation> &operation_table();

// NULL where there is none.
const Operation *find_operation(std::string_view name);

// The parts of the table, one function for each family.
std::vector<Operation> memory_operations();       // with transfer and random
std::vector<Operation> elementwise_operations();  // with the optimizer
std::vector<Operation> reduction_operations();
std::vector<Operation> view_operations();
std::vector<Operation> matmul_operations();

// Helpers of the rows.
inline Buffer input(const Case &one, std::size_t which) { return to_backend(one.inputs[which]); }
inline Outcome outcome(const Buffer &buffer) { return {{from_backend(buffer)}, false}; }
inline Outcome outcome(const Buffer &first, const Buffer &second) {
  return {{from_backend(first), from_backend(second)}, false};
}

}  // namespace torchlean::tools
