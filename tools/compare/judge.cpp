// Masks first, then every finite element by its budget (rule T2).
#include "compare/judge.hpp"

#include "common/backends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace torchlean::tools {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
  const bool expects_nan = is_nan(pair.dtype, pair.expected);
  if (expects_nan != is_nan(pair.dtype, pair.got)) {
    ++verdict.nan_mismatches;
    record(verdict, place, pair, infinity, expects_nan ? "NaN expected" : "NaN not expected");
    return;
  }
  if (expects_nan) return;
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

void judge_bounded(Verdict &verdict, const Place &place, const Pair &pair,
                   const Allowance &allowance, bool baseline_is_reference) {
  if (allowance.unit == Allowance::Unit::unchecked) {
    ++verdict.unchecked;
    return;
  }
  const bool expects_nan = is_nan(pair.dtype, pair.expected);
  if (expects_nan != is_nan(pair.dtype, pair.got)) {
    ++verdict.nan_mismatches;
    record(verdict, place, pair, infinity, expects_nan ? "NaN expected" : "NaN not expected");
    return;
  }
  if (expects_nan) return;

  const std::uint64_t distance = ulp_distance(pair.dtype, pair.expected, pair.got);
  const bool in_ulps = allowance.unit == Allowance::Unit::ulps;
  // Two bounds meet where the baseline is not exact.
  const double budget = allowance.of_backend +
                        (baseline_is_reference ? allowance.of_reference : allowance.of_backend);
  const bool infinity_expected = is_infinite(pair.dtype, pair.expected);
  if (infinity_expected != is_infinite(pair.dtype, pair.got)) {
    const bool reached =
        in_ulps ? static_cast<double>(distance) <= budget : budget_reaches_infinity(pair, budget);
    if (reached) return;
    ++verdict.infinity_mismatches;
    record(verdict, place, pair, infinity,
           infinity_expected ? "infinity expected" : "infinity not expected");
    return;
  }
  measure(verdict, distance);
  if (distance == 0) return;
  const long double difference = static_cast<long double>(to_value(pair.dtype, pair.got)) -
                                 static_cast<long double>(to_value(pair.dtype, pair.expected));
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
  const Rule rule = rule_of(operation, one, setting);
  for (std::size_t k = 0; k < expected.outputs.size(); ++k) {
    const Array &wanted = expected.outputs[k];
    verdict.elements += wanted.size();
    if (expected.replay || got.replay) {
      verdict.unchecked += wanted.size();
      continue;
    }
    for (std::uint64_t i = 0; i < wanted.size(); ++i) {
      const Pair pair{wanted.dtype, wanted.bits[i], got.outputs[k].bits[i]};
      const Place place{k, i, wanted.dtype == TL_ENCODED ? 0 : wanted.value(i)};
      if (rule == Rule::bounded) {
        judge_bounded(verdict, place, pair, operation.bound(one, place),
                      setting.baseline_is_reference);
      } else {
        judge_exact(verdict, rule, place, pair);
      }
    }
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
