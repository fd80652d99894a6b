// Masks first, then every finite element by its budget (rule T2).
#include "compare/judge.hpp"

#include "common/backends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace torchlean::tools {
namespace {

// One pair of elements under judgement.
struct Pair {
  tl_dtype dtype;
  std::uint64_t expected;
  std::uint64_t got;
};

void record(Verdict &verdict, const Place &place, const Pair &pair, double severity,
            std::string reason) {
  ++verdict.wrong;
  if (verdict.worst && verdict.worst->severity >= severity) return;
  verdict.worst = Mismatch{place, pair.dtype, pair.expected, pair.got, std::move(reason), severity};
}

void measure(Verdict &verdict, std::uint64_t distance) {
  verdict.largest_ulp = std::max(verdict.largest_ulp, distance);
  verdict.ulp_total += static_cast<double>(distance);
  ++verdict.measured;
}

// Whether just one of the two is NaN, which is wrong.
bool nan_differs(Verdict &verdict, const Place &place, const Pair &pair) {
  const bool is_expected = is_nan(pair.dtype, pair.expected);
  if (is_expected == is_nan(pair.dtype, pair.got)) return false;
  ++verdict.nan_mismatches;
  record(verdict, place, pair, infinity, is_expected ? "NaN expected" : "NaN not expected");
  return true;
}

void record_infinity(Verdict &verdict, const Place &place, const Pair &pair) {
  ++verdict.infinity_mismatches;
  record(verdict, place, pair, infinity,
         is_infinite(pair.dtype, pair.expected) ? "infinity expected" : "infinity not expected");
}

// Bit for bit, up to what the rule lets pass.
void judge_exact(Verdict &verdict, Rule rule, const Place &place, const Pair &pair) {
  if (pair.expected == pair.got) {
    measure(verdict, 0);
    return;
  }
  if (pair.dtype == TL_ENCODED || rule == Rule::bits) {
    record(verdict, place, pair, infinity, "other bits");
    return;
  }
  if (nan_differs(verdict, place, pair) || is_nan(pair.dtype, pair.expected)) return;
  const std::uint64_t distance = ulp_distance(pair.dtype, pair.expected, pair.got);
  if (distance == 0) {
    if (rule == Rule::exact_either_zero) return;
    ++verdict.zero_sign_mismatches;
    record(verdict, place, pair, 1, "zero of the other sign");
    return;
  }
  if (is_infinite(pair.dtype, pair.expected) || is_infinite(pair.dtype, pair.got)) {
    ++verdict.infinity_mismatches;
  }
  measure(verdict, distance);
  record(verdict, place, pair, static_cast<double>(distance),
         fmt::format("{} ulp off, the same bits expected", distance));
}

// An infinity beside a finite number is right only where the budget reaches over the largest
// number.
bool budget_reaches_infinity(const Pair &pair, double budget) {
  const double finite = is_infinite(pair.dtype, pair.got) ? to_value(pair.dtype, pair.expected)
                                                          : to_value(pair.dtype, pair.got);
  const double infinite = is_infinite(pair.dtype, pair.got) ? to_value(pair.dtype, pair.got)
                                                            : to_value(pair.dtype, pair.expected);
  const double largest = limits_of(pair.dtype).largest;
  const double threshold_gap = (largest - std::fabs(finite)) + ulp_of(pair.dtype, largest) / 2;
  return std::signbit(finite) == std::signbit(infinite) && threshold_gap <= budget;
}

// Two bounds meet where the baseline is not exact.
double budget_of(const Allowance &allowance, bool baseline_is_reference) {
  return allowance.of_backend +
         (baseline_is_reference ? allowance.of_reference : allowance.of_backend);
}

void judge_bounded(Verdict &verdict, const Place &place, const Pair &pair,
                   const Allowance &allowance, bool baseline_is_reference) {
  if (nan_differs(verdict, place, pair) || is_nan(pair.dtype, pair.expected)) return;

  const std::uint64_t distance = ulp_distance(pair.dtype, pair.expected, pair.got);
  const bool in_ulps = allowance.unit == Allowance::Unit::ulps;
  const double budget = budget_of(allowance, baseline_is_reference);
  if (is_infinite(pair.dtype, pair.expected) != is_infinite(pair.dtype, pair.got)) {
    const bool reached =
        in_ulps ? static_cast<double>(distance) <= budget : budget_reaches_infinity(pair, budget);
    if (!reached) record_infinity(verdict, place, pair);
    return;
  }
  measure(verdict, distance);
  if (distance == 0) return;
  const long double difference =
      to_value(pair.dtype, pair.got) - static_cast<long double>(place.expected);
  const double error =
      in_ulps ? static_cast<double>(distance) : static_cast<double>(std::fabs(difference));
  if (std::isnan(budget)) return;  // a stage overflowed: masks were all that can be checked
  const double used = budget > 0 ? error / budget : infinity;
  verdict.budget_used = std::max(verdict.budget_used, used);
  if (used <= 1) return;
  record(verdict, place, pair, used,
         in_ulps ? fmt::format("error {:.0f} ulp, budget {:.4g} ulp, {:.4g} times over", error,
                               budget, used)
                 : fmt::format("error {:.4g} ({} ulp), budget {:.4g}, {:.4g} times over", error,
                               distance, budget, used));
}

// The expected bits, which may have overflowed on their way, or what is near the exact value.
void judge_two_values(Verdict &verdict, const Place &place, const Pair &pair,
                      const Allowance &allowance) {
  const bool is_finite = !is_nan(pair.dtype, pair.got) && !is_infinite(pair.dtype, pair.got);
  const bool expects_finite =
      !is_nan(pair.dtype, pair.expected) && !is_infinite(pair.dtype, pair.expected);
  if (!is_finite) {
    if (nan_differs(verdict, place, pair) || is_nan(pair.dtype, pair.expected)) return;
    if (pair.got != pair.expected) record_infinity(verdict, place, pair);
    return;
  }
  const std::uint64_t distance =
      expects_finite ? ulp_distance(pair.dtype, pair.expected, pair.got) : 0;
  if (expects_finite) measure(verdict, distance);
  if (expects_finite && distance == 0) return;
  const long double difference = to_value(pair.dtype, pair.got) - allowance.exact_value;
  const auto error = static_cast<double>(std::fabs(difference));
  const double used = allowance.of_backend > 0 ? error / allowance.of_backend : infinity;
  verdict.budget_used = std::max(verdict.budget_used, used);
  if (used <= 1) return;
  record(verdict, place, pair, used,
         fmt::format("error {:.4g}, budget {:.4g}, {:.4g} times over", error, allowance.of_backend,
                     used));
}

void judge_element(Verdict &verdict, const Place &place, const Pair &pair,
                   const Allowance &allowance, bool baseline_is_reference) {
  switch (allowance.unit) {
    case Allowance::Unit::bits: return judge_exact(verdict, Rule::bits, place, pair);
    case Allowance::Unit::exact: return judge_exact(verdict, Rule::exact, place, pair);
    case Allowance::Unit::two_values: return judge_two_values(verdict, place, pair, allowance);
    case Allowance::Unit::unchecked: ++verdict.unchecked; return;
    default: return judge_bounded(verdict, place, pair, allowance, baseline_is_reference);
  }
}

// Masks element by element, then the norm of what is left.
void judge_group(Verdict &verdict, const Group &group, const Array &expected, const Array &got,
                 bool baseline_is_reference) {
  if (group.allowance.unit == Allowance::Unit::unchecked) {
    verdict.unchecked += group.count;
    return;
  }
  long double squares = 0;
  long double expected_squares = 0;
  long double largest = 0;
  std::optional<std::pair<Place, Pair>> worst;
  for (std::uint64_t i = group.first; i < group.first + group.count; ++i) {
    const Pair pair{expected.dtype, expected.bits[i], got.bits[i]};
    const Place place{group.output, i, expected.value(i)};
    if (nan_differs(verdict, place, pair) || is_nan(pair.dtype, pair.expected)) continue;
    const std::uint64_t distance = ulp_distance(pair.dtype, pair.expected, pair.got);
    if (is_infinite(pair.dtype, pair.expected) || is_infinite(pair.dtype, pair.got)) {
      if (distance != 0) record_infinity(verdict, place, pair);
      continue;
    }
    measure(verdict, distance);
    const long double value = place.expected;
    const long double difference = got.value(i) - value;
    squares += difference * difference;
    expected_squares += value * value;
    if (std::fabs(difference) <= largest) continue;
    largest = std::fabs(difference);
    worst = {place, pair};
  }
  if (!worst) return;
  const auto error = static_cast<double>(std::sqrt(squares));
  const auto norm = static_cast<double>(std::sqrt(expected_squares));
  const double budget = budget_of(group.allowance, baseline_is_reference);
  const double used = budget > 0 ? error / budget : infinity;
  verdict.budget_used = std::max(verdict.budget_used, used);
  if (used <= 1) return;
  record(verdict, worst->first, worst->second, used,
         fmt::format("elements {} to {}: norm of the error {:.4g} for a norm of {:.4g}, budget "
                     "{:.4g}, {:.4g} times over",
                     group.first, group.first + group.count - 1, error, norm, budget, used));
  verdict.wrong += group.count - 1;  // as a whole
}

// What is wrong with the outcome as a whole.
std::string complaint_about(const Operation &operation, const Case &one, const Outcome &expected,
                            const Outcome &got) {
  for (std::size_t k = 0; k < expected.outputs.size(); ++k) {
    const Array &wanted = expected.outputs[k];
    const Array &given = got.outputs[k];
    if (wanted.dtype != given.dtype) {
      return fmt::format("output {} is {}, expected {}", k, dtype_name(given.dtype),
                         dtype_name(wanted.dtype));
    }
    if (wanted.size() != given.size()) {
      return fmt::format("output {} has {} elements, expected {}", k, given.size(), wanted.size());
    }
  }
  if (operation.must_replay != nullptr && operation.must_replay(one) && !got.replay) {
    return "replay was not asked for, although an operand, its scaled value or the scale demands "
           "it";
  }
  return "";
}

template <class Judge>
void for_each_element(const std::vector<Array> &expected, const std::vector<Array> &got,
                      Judge judge) {
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const Array &wanted = expected[k];
    for (std::uint64_t i = 0; i < wanted.size(); ++i) {
      judge(Place{k, i, wanted.dtype == TL_ENCODED ? 0 : wanted.value(i)},
            Pair{wanted.dtype, wanted.bits[i], got[k].bits[i]});
    }
  }
}

void judge_by_standard(Verdict &verdict, const Standard &standard, const Outcome &baseline,
                       const Outcome &got, bool baseline_is_reference) {
  const std::vector<Array> &expected =
      standard.expected.empty() ? baseline.outputs : standard.expected;
  for (const Group &group : standard.groups) {
    judge_group(verdict, group, expected[group.output], got.outputs[group.output],
                baseline_is_reference);
  }
  if (!standard.groups.empty()) return;
  for_each_element(expected, got.outputs, [&](const Place &place, const Pair &pair) {
    judge_element(verdict, place, pair, standard.allowances.at(place.output).at(place.index),
                  baseline_is_reference);
  });
}

void judge_by_rule(Verdict &verdict, const Operation &operation, const Case &one,
                   const Outcome &expected, const Outcome &got, const Setting &setting) {
  const Rule rule = rule_of(operation, one, setting);
  for_each_element(expected.outputs, got.outputs, [&](const Place &place, const Pair &pair) {
    if (rule == Rule::bounded) {
      judge_element(verdict, place, pair, operation.bound(one, place),
                    setting.baseline_is_reference);
    } else {
      judge_exact(verdict, rule, place, pair);
    }
  });
}

}  // namespace

Rule rule_of(const Operation &operation, const Case &one, const Setting &setting) {
  // A conversion between dtypes keeps no NaN payload.
  if (operation.rule == Rule::bits && one.other_dtype != one.dtype) return Rule::exact;
  // The fixed order of additions leaves nothing to a backend.
  if (setting.is_deterministic && operation.is_reproducible) return Rule::exact;
  return operation.rule;
}

Verdict judge(const Operation &operation, const Case &one, const Outcome &expected,
              const Outcome &got, const Setting &setting) {
  Verdict verdict;
  verdict.complaint = complaint_about(operation, one, expected, got);
  if (!verdict.complaint.empty()) return verdict;
  for (const Array &output : expected.outputs) verdict.elements += output.size();
  if (expected.replay || got.replay) {
    verdict.unchecked = verdict.elements;
  } else if (operation.standard != nullptr) {
    judge_by_standard(verdict, operation.standard(one, expected, got, setting), expected, got,
                      setting.baseline_is_reference);
  } else {
    judge_by_rule(verdict, operation, one, expected, got, setting);
  }
  return verdict;
}

Proof proof_of(const Outcome &expected) {
  if (expected.replay) return Proof::replayed;
  bool any = false;
  bool all_zero = true;
  bool all_nan = true;
  for (const Array &array : expected.outputs) {
    for (const std::uint64_t bits : array.bits) {
      any = true;
      const bool is_native = array.dtype != TL_ENCODED;
      all_zero = all_zero && (is_native ? is_zero(array.dtype, bits) : bits == 0);
      all_nan = all_nan && is_native && is_nan(array.dtype, bits);
    }
  }
  if (!any) return Proof::empty;
  if (all_zero) return Proof::all_zero;
  return all_nan ? Proof::all_nan : Proof::proving;
}

}  // namespace torchlean::tools
