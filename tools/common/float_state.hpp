// The calling thread's floating-point state: seen, changed and put back (rule B9).
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace torchlean::tools {

// Rounding mode, flush-to-zero and traps; the flags of past exceptions do not count.
struct FloatState {
  int rounding = std::fegetround();
#if defined(__x86_64__)
  unsigned control = _mm_getcsr() & 0xFFC0U;
#endif
  bool operator==(const FloatState &) const = default;
};

// Puts the state back that it found.
class KeepFloatState {
 public:
  KeepFloatState() { std::fegetenv(&former_); }
  ~KeepFloatState() { std::fesetenv(&former_); }
  KeepFloatState(const KeepFloatState &) = delete;
  KeepFloatState &operator=(const KeepFloatState &) = delete;

 private:
  std::fenv_t former_{};
};

// What a careless program may have left behind, as long as it lives: rounding upward, subnormals
// taken for zeros.
class CarelessFloatState : KeepFloatState {
 public:
  CarelessFloatState() {
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040U);
#endif
  }
};

}  // namespace torchlean::tools
