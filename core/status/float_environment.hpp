// The thread's floating-point state: default inside the core, the caller's again afterwards (rule
// B9).
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace torchlean {

#if defined(__x86_64__)

// Rounding to nearest, gradual underflow, no traps while it lives; costs a read where that is so
// already.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept : callers_(_mm_getcsr()) {
    if ((callers_ & control_bits) != default_control) _mm_setcsr(default_control);
  }
  ~DefaultFloatEnvironment() {
    if ((callers_ & control_bits) != default_control) _mm_setcsr(callers_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;

 private:
  static constexpr unsigned control_bits = 0xFFC0;  // all but the sticky exception flags
  static constexpr unsigned default_control = 0x1F80;
  unsigned callers_;
};

// Puts the state back that it found, whatever happened in between.
class KeepFloatEnvironment {
 public:
  KeepFloatEnvironment() noexcept : callers_(_mm_getcsr()) {}
  ~KeepFloatEnvironment() { _mm_setcsr(callers_); }
  KeepFloatEnvironment(const KeepFloatEnvironment &) = delete;
  KeepFloatEnvironment &operator=(const KeepFloatEnvironment &) = delete;

 private:
  unsigned callers_;
};

#else

class KeepFloatEnvironment {
 public:
  KeepFloatEnvironment() noexcept { std::fegetenv(&callers_); }
  ~KeepFloatEnvironment() { std::fesetenv(&callers_); }
  KeepFloatEnvironment(const KeepFloatEnvironment &) = delete;
  KeepFloatEnvironment &operator=(const KeepFloatEnvironment &) = delete;

 private:
  std::fenv_t callers_;
};

class DefaultFloatEnvironment : KeepFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept { std::fesetenv(FE_DFL_ENV); }
};

#endif

}  // namespace torchlean
