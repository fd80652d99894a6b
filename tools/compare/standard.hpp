// What the results of a case are held against as a whole: for operations whose elements share work,
// are judged together, or are right in more than one way.
#pragma once

#include "compare/bounds.hpp"
#include "compare/cases.hpp"

#include <cstdint>
#include <vector>

namespace torchlean::tools {

// What a call gave back.
struct Outcome {
  std::vector<Array> outputs;
  bool replay = false;  // bmm_scaled: the values are unspecified
};

// What is being compared with what.
struct Setting {
  bool baseline_is_reference = true;  // its own error is small and known
  bool is_deterministic = false;      // setting 2 is on
};

// Elements of one output that are judged together, by the Euclidean norm of their error.
struct Group {
  std::size_t output;
  std::uint64_t first;
  std::uint64_t count;
  Allowance allowance;  // an absolute one, of the norm
};

struct Standard {
  std::vector<Array> expected;                     // instead of the baseline's; empty: those
  std::vector<std::vector<Allowance>> allowances;  // of every output's elements
  std::vector<Group> groups;                       // instead of allowances
};

// Made for one backend's outcome `got`, beside the baseline's.
using StandardOf = Standard (*)(const Case &, const Outcome &baseline, const Outcome &got,
                                const Setting &);

// ---- Families ----------------------------------------------------------------------------------

Standard scatter_add_standard(const Case &, const Outcome &, const Outcome &, const Setting &);

Standard softmax_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard masked_softmax_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard layer_norm_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard layer_norm_bwd_standard(const Case &, const Outcome &, const Outcome &, const Setting &);

Standard cross_entropy_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard distillation_standard(const Case &, const Outcome &, const Outcome &, const Setting &);

Standard fourier_standard(const Case &, const Outcome &, const Outcome &, const Setting &);

Standard scan_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard scan_bwd_standard(const Case &, const Outcome &, const Outcome &, const Setting &);

}  // namespace torchlean::tools
