// How far a result may lie from the exact value: the bounds of docs/operations.md, computed from
// the operands of each case. Nothing here is a typed-in tolerance.
#pragma once

#include "compare/cases.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace torchlean::tools {

// One output element of a case, with the baseline's value for it.
struct Place {
  std::size_t output;
  std::uint64_t index;
  double expected;
};

// What one backend may miss the exact value by, and what the reference backend itself may.
struct Allowance {
  enum class Unit {
    bits,        // none: the same words
    exact,       // none: the same bits, but any NaN matches any NaN
    ulps,        // representable steps
    absolute,    // difference of values
    two_values,  // the same bits, or an absolute difference from `exact_value`
    unchecked    // the specification names no value here
  };
  Unit unit = Unit::unchecked;
  double of_backend = 0;
  double of_reference = 0;
  long double exact_value = 0;
};

using Bound = Allowance (*)(const Case &, const Place &);

// Input elements that an output element is computed from: (input, index).
using Terms = std::vector<std::pair<std::size_t, std::uint64_t>>;
using TermsOf = Terms (*)(const Case &, const Place &);

Terms same_place(const Case &, const Place &);
Terms whole_input(const Case &, const Place &);
Terms row_terms(const Case &, const Place &);      // dims = rows, cols; one output per row
Terms own_row_terms(const Case &, const Place &);  // dims = rows, cols; output like input
Terms column_terms(const Case &, const Place &);
Terms axis_terms(const Case &, const Place &);  // number = axis
Terms broadcast_terms(const Case &, const Place &);
Terms broadcast_source(const Case &, const Place &);
Terms matmul_terms(const Case &, const Place &);  // a[0], b[0], a[1], b[1] ...

// Elementwise: correctly rounded by the reference.
Allowance two_ulps(const Case &, const Place &);

// Staged: the reference follows the stages and has the same bound as everyone.
Allowance sigmoid_bound(const Case &, const Place &);
Allowance gelu_bound(const Case &, const Place &);
Allowance gelu_bwd_bound(const Case &, const Place &);
Allowance rand_normal_bound(const Case &, const Place &);

// Sums and products: within 0.501 ulp in the reference.
template <TermsOf terms_of>
Allowance sum_bound(const Case &one, const Place &place);
Allowance mean_bound(const Case &, const Place &);
Allowance matmul_bound(const Case &, const Place &);
Allowance scaled_matmul_bound(const Case &, const Place &);

// Whether the specification demands that bmm_scaled asks for a replay.
bool must_replay(const Case &one);

namespace detail {
Allowance bound_of_sum(const Case &one, const Place &place, const Terms &terms);
}
template <TermsOf terms_of>
Allowance sum_bound(const Case &one, const Place &place) {
  return detail::bound_of_sum(one, place, terms_of(one, place));
}

}  // namespace torchlean::tools
