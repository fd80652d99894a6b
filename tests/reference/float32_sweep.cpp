// Walks float inputs of the reference's elementary functions: all 2^32, a range, or a fixed sample.
//
// Each input goes down the reference's own path. Every 1009th, and each one that the reference
// sends to MPFR, is also held against MPFR in 140 binary digits. Since results are correctly
// rounded, the checksum of a range is the same on every machine.
#include "correctly_rounded.hpp"
#include "support/oracle.hpp"

#include <cstdio>
#include <cstring>
#include <ctime>

#include <unistd.h>

using namespace torchlean::reference;
using namespace torchlean::test;

namespace {

struct Function {
  const char *name;
  const correctly_rounded::Elementary &elementary;
};

const Function functions[] = {
    {"exp", correctly_rounded::exp},     {"log", correctly_rounded::log},
    {"log1p", correctly_rounded::log1p}, {"sin", correctly_rounded::sin},
    {"cos", correctly_rounded::cos},     {"tanh", correctly_rounded::tanh},
};

// ---- One input ----------------------------------------------------------------------------------

struct Tally {
  uint64_t inputs = 0, to_mpfr = 0, checked = 0, wrong = 0;
  double largest_error = 0;  // of the binary64 function, in float ulp
  uint32_t checksum = 0;     // the sum of all results' bits, each NaN counting alike
};

class Walk {
 public:
  explicit Walk(const Function &function) : function_(function) {}

  void visit(uint32_t bits, bool check_it) {
    const auto x = std::bit_cast<float>(bits);
    const double y = function_.elementary.approximate(x);
    const bool safe = correctly_rounded::rounds_safely(y);
    const float result = function_.elementary.nearest(x, y);
    ++tally_.inputs;
    tally_.to_mpfr += safe ? 0 : 1;
    tally_.checksum += std::isnan(result) ? 0x7fc00000 : std::bit_cast<uint32_t>(result);
    if (check_it || !safe) check(x, y, result);
  }

  const Tally &tally() const { return tally_; }

 private:
  void check(float x, double y, float result) {
    mpfr_set_flt(exact_.value, x, MPFR_RNDN);
    function_.elementary.exact(exact_.value, exact_.value, MPFR_RNDN);
    ++tally_.checked;
    const auto expected = exact_.rounded<float>();
    if (!same(result, expected)) {
      if (tally_.wrong++ == 0)
        std::fprintf(stderr, "float32_sweep: %s of %a is %a, expected %a\n", function_.name,
                     double{x}, double{result}, double{expected});
    }
    if (!std::isfinite(y) || mpfr_regular_p(exact_.value) == 0) return;
    const int64_t binade = std::max<int64_t>(mpfr_get_exp(exact_.value), FLT_MIN_EXP);
    mpfr_sub_d(exact_.value, exact_.value, y, MPFR_RNDN);
    mpfr_mul_2si(exact_.value, exact_.value, FLT_MANT_DIG - binade, MPFR_RNDN);
    tally_.largest_error =
        std::max(tally_.largest_error, std::fabs(mpfr_get_d(exact_.value, MPFR_RNDN)));
  }

  const Function &function_;
  Wide exact_{140};
  Tally tally_;
};

// ---- Ranges -------------------------------------------------------------------------------------

constexpr uint64_t all_inputs = uint64_t{1} << 32;
constexpr uint64_t range_size = uint64_t{1} << 26;
constexpr uint32_t check_every = 1009;

Tally walk_range(const Function &function, uint64_t from, uint64_t to) {
  Walk walk(function);
  for (uint64_t i = from; i < to; ++i) walk.visit(static_cast<uint32_t>(i), i % check_every == 0);
  return walk.tally();
}

// One line for each range: function, from, to, sent to MPFR, checked, wrong, largest error of
// binary64 in float ulp, checksum, core seconds.
bool sweep(const Function &function, uint64_t from, uint64_t to) {
  const bool shows_progress = to - from > range_size && isatty(STDERR_FILENO) != 0;
  bool right = true;
  while (from < to) {
    const uint64_t end = std::min(to, (from / range_size + 1) * range_size);
    if (shows_progress)
      std::fprintf(stderr, "\r%s: %5.1f %%\r", function.name,
                   100.0 * static_cast<double>(from) / static_cast<double>(all_inputs));
    const std::clock_t start = std::clock();
    const Tally tally = walk_range(function, from, end);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%s %lu %lu %lu %lu %lu %.3g %u %.2f\n", function.name, from, end, tally.to_mpfr,
                tally.checked, tally.wrong, tally.largest_error, tally.checksum, seconds);
    std::fflush(stdout);
    right = right && tally.wrong == 0;
    from = end;
  }
  return right;
}

// ---- The sample ---------------------------------------------------------------------------------

// Floats around every power of two, and where results leave the float range, become subnormal,
// stop changing, or cross zero.
void visit_special_regions(Walk &walk) {
  constexpr uint32_t sign = 0x80000000;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t bits = (exponent << 23) - 32 + i;
      walk.visit(bits, true);
      walk.visit(bits ^ sign, true);
    }
  constexpr float borders[] = {88.72284f,  -87.33654f, -103.97208f, -103.27893f, 9.010913f, -1.0f,
                               1.5707964f, 3.1415927f, 11.0f,       33.0f,       355.0f,    1e22f};
  for (const float border : borders)
    for (uint32_t i = 0; i < 1024; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(border) - 512 + i;
      walk.visit(bits, true);
      walk.visit(bits ^ sign, true);
    }
}

bool sample(const Function &function) {
  constexpr uint64_t stride = 12343;
  Walk walk(function);
  visit_special_regions(walk);
  for (uint64_t i = 0; i < all_inputs; i += stride)
    walk.visit(static_cast<uint32_t>(i), i % 17 == 0);
  const Tally &tally = walk.tally();
  std::printf("%s: %lu inputs, %lu to MPFR, %lu checked, %lu wrong, binary64 within %.2g ulp\n",
              function.name, tally.inputs, tally.to_mpfr, tally.checked, tally.wrong,
              tally.largest_error);
  // About one in 2^19 lies next to a tie, and some near the special values.
  return tally.wrong == 0 && tally.to_mpfr < tally.inputs >> 10 && tally.largest_error < 0x1p-24;
}

int usage() {
  std::fputs(
      "usage: float32_sweep FUNCTION FROM TO   walks the floats whose bits are in [FROM, TO)\n"
      "       float32_sweep --sample           walks a fixed sample for every function\n",
      stderr);
  return 2;
}

}  // namespace

int main(int count, char **arguments) {
  if (count == 2 && std::strcmp(arguments[1], "--sample") == 0) {
    bool right = true;
    for (const Function &function : functions) right = sample(function) && right;
    return right ? 0 : 1;
  }
  if (count != 4) return usage();
  const uint64_t from = std::strtoull(arguments[2], nullptr, 0);
  const uint64_t to = std::strtoull(arguments[3], nullptr, 0);
  if (from >= to || to > all_inputs) return usage();
  for (const Function &function : functions)
    if (std::strcmp(function.name, arguments[1]) == 0) return sweep(function, from, to) ? 0 : 1;
  return usage();
}
