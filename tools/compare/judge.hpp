// Holds a backend's outcome of one case against the baseline's.
#pragma once

#include "compare/operations.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace torchlean::tools {

// A wrong element.
struct Mismatch {
  Place place{};
  tl_dtype dtype = TL_FLOAT32;
  std::uint64_t expected = 0;  // bits
  std::uint64_t got = 0;
  std::string reason;   // "NaN expected", "3 ulp, budget 2 ulp"
  double severity = 0;  // error over budget; infinite where no budget applies
};

struct Verdict {
  std::uint64_t elements = 0;
  std::uint64_t unchecked = 0;  // the specification names no value there
  std::uint64_t nan_mismatches = 0;
  std::uint64_t infinity_mismatches = 0;
  std::uint64_t zero_sign_mismatches = 0;
  std::uint64_t wrong = 0;  // all mismatches
  std::uint64_t largest_ulp = 0;
  double ulp_total = 0;  // over `measured` elements: finite on both sides
  std::uint64_t measured = 0;
  double budget_used = 0;  // largest error over budget; above 1 is wrong
  std::optional<Mismatch> worst;
  std::string complaint;  // wrong as a whole: number of outputs, size, dtype, replay flag

  bool is_good() const { return wrong == 0 && complaint.empty(); }
};

// The row's rule, as the case and the setting sharpen it.
Rule rule_of(const Operation &operation, const Case &one, const Setting &setting);

Verdict judge(const Operation &operation, const Case &one, const Outcome &expected,
              const Outcome &got, const Setting &setting);

// What the expected result can prove (rule T5).
enum class Proof { proving, empty, all_zero, all_nan, replayed };
Proof proof_of(const Outcome &expected);

}  // namespace torchlean::tools
