// The table that the comparison is made from: for each operation its cases, its call and its
// budget.
#pragma once

#include "compare/bounds.hpp"
#include "compare/cases.hpp"
#include "compare/shapes.hpp"
#include "compare/standard.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace torchlean::tools {

// How an operation's results are held against each other.
enum class Rule {
  bits,               // the same words, NaN payloads too
  exact,              // the same bits, but any NaN matches any NaN
  exact_either_zero,  // as exact, and zeros of either sign match
  bounded             // within the row's bound; zeros of either sign match
};

// What a call gave back: buffers on its backend, or arrays where the results lie on the host.
struct Results {
  std::array<Buffer, 4> buffers = {};  // the first ones; the others hold nothing
  std::vector<Array> arrays = {};
  bool replay = false;  // bmm_scaled: the values are unspecified
};

struct Operation {
  const char *name;  // as in operations.def
  Rule rule;
  const char *budget;  // in words, for the report
  void (*cases)(const Generator &);
  void (*wrong)(const Generator &);  // calls that must be refused (rule T6)
  // On the thread's backend, where `inputs` lie; throws Error. May take members of a case with at()
  // only: a case that was typed in may lack them.
  Results (*call)(const Case &, const Inputs &);
  Bound bound = nullptr;            // of bounded operations, element by element
  StandardOf standard = nullptr;    // or for the case as a whole
  TermsOf terms = same_place;       // what to show of a wrong element
  Shape shape = elementwise_shape;  // how a failing case is made smaller
  bool is_reproducible = false;     // in deterministic mode the same bits on every backend
  // Values that differ from zero prove the operation; false where the right result is zero.
  bool needs_proof = true;
  bool (*must_replay)(const Case &) = nullptr;

  // The call with its results downloaded.
  Outcome run(const Case &one, const Inputs &inputs) const;
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

// Helper of the rows: the results of a call, in their order.
template <class... Buffers>
Results results(Buffers... buffers) {
  return {.buffers = {std::move(buffers)...}};
}

}  // namespace torchlean::tools
