// The same operands at many places.
#include "compare/places.hpp"

#include <fmt/format.h>

namespace torchlean::tools {
namespace {

// Short ones are all rest and no vector; the last is more than one thread's share, if the case asks
// for it.
std::vector<std::uint64_t> lengths_of(const Case &one) {
  return {1, 2, 3, 5, 7, 9, 15, 17, 31, 33, 63, 66, 129, 1021, one.length};
}

// `length` elements that repeat the case's, beginning with element `first`.
Inputs repeated(const Case &one, std::uint64_t first, std::uint64_t length) {
  Inputs inputs;
  for (const Array &pattern : one.inputs) {
    Array array{pattern.dtype, pattern.format, {}};
    array.bits.reserve(length);
    for (std::uint64_t i = 0; i < length; ++i) {
      array.bits.push_back(pattern.bits[(first + i) % pattern.size()]);
    }
    inputs.push_back(to_backend(array));
  }
  return inputs;
}

bool is_alike(tl_dtype dtype, std::uint64_t a, std::uint64_t b) {
  return a == b || (is_nan(dtype, a) && is_nan(dtype, b));
}

// In deterministic mode while it lives.
class DeterministicMode {
 public:
  DeterministicMode() : former_(set_setting(TL_SETTING_DETERMINISTIC, true)) {}
  ~DeterministicMode() { tl_set_setting(TL_SETTING_DETERMINISTIC, former_ ? 1 : 0, nullptr); }
  DeterministicMode(const DeterministicMode &) = delete;
  DeterministicMode &operator=(const DeterministicMode &) = delete;

 private:
  bool former_;
};

}  // namespace

std::string differing_place(const Operation &row, const Case &one) {
  const DeterministicMode mode;
  const std::uint64_t period = one.inputs.at(0).size();
  const Outcome once = row.run(one, repeated(one, 0, period));
  for (const std::uint64_t length : lengths_of(one)) {
    const std::uint64_t first = length % period;
    const Outcome often = row.run(one, repeated(one, first, length));
    for (std::size_t k = 0; k < once.outputs.size(); ++k) {
      const Array &expected = once.outputs[k];
      const Array &got = often.outputs.at(k);
      for (std::uint64_t i = 0; i < got.size(); ++i) {
        const std::uint64_t like = (first + i) % period;
        if (is_alike(got.dtype, expected.bits.at(like), got.bits[i])) continue;
        return fmt::format(
            "output {}, element {} of {} is {}, but {} where its operands are element {} of {}, in "
            "deterministic mode",
            k, i, length, describe(got.dtype, got.bits[i]),
            describe(got.dtype, expected.bits[like]), like, period);
      }
    }
  }
  return "";
}

}  // namespace torchlean::tools
