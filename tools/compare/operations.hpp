// The table that the comparison is made from: for each operation its cases, its call and its
// budget.
#pragma once

#include "compare/bounds.hpp"
#include "compare/cases.hpp"
#include "compare/shapes.hpp"
#include "compare/standard.hpp"

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

struct Operation {
  const char *name;  // as in operations.def
  Rule rule;
  const char *budget;  // in words, for the report
  void (*cases)(const Generator &);
  void (*wrong)(const Generator &);  // calls that must be refused (rule T6)
  // On the thread's backend, where `inputs` lie; throws Error. May take members of a case with at()
  // only: a case that was typed in may lack them.
  Outcome (*run)(const Case &, const Inputs &);
  Bound bound = nullptr;            // of bounded operations, element by element
  StandardOf standard = nullptr;    // or for the case as a whole
  TermsOf terms = same_place;       // what to show of a wrong element
  Shape shape = elementwise_shape;  // how a failing case is made smaller
  bool is_reproducible = false;     // in deterministic mode the same bits on every backend
  // Values that differ from zero prove the operation; false where the right result is zero.
  bool needs_proof = true;
  bool (*must_replay)(const Case &) = nullptr;
};

// In the order of operations.def; every implemented operation has a row.
const std::vector<Operation> &operation_table();

// NULL where there is none.
const Operation *find_operation(std::string_view name);

// Why the operation's budget is what it is, in words.
const char *budget_reason(const Operation &operation);

// The parts of the table, one function for each family.
std::vector<Operation> memory_operations();       // with transfer and random
std::vector<Operation> elementwise_operations();  // with the optimizer
std::vector<Operation> reduction_operations();
std::vector<Operation> view_operations();
std::vector<Operation> indexing_operations();
std::vector<Operation> matmul_operations();
std::vector<Operation> normalization_operations();
std::vector<Operation> loss_operations();
std::vector<Operation> fourier_operations();
std::vector<Operation> scan_operations();
std::vector<Operation> convolution_operations();
std::vector<Operation> pooling_operations();

// Helpers of the rows.
template <class... Buffers>
Outcome outcome(const Buffer &first, const Buffers &...more) {
  return {{from_backend(first), from_backend(more)...}, false};
}

}  // namespace torchlean::tools
