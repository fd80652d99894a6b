// The thread's floating-point state: default inside the core, the caller's again afterwards (rule
// B9).
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#include <cstdint>
#else
#include <cfenv>
#endif

namespace torchlean {

#if defined(__x86_64__)

// Both units: SSE computes with float and double, x87 with the long double of some backends.
struct FloatControl {
  unsigned sse = 0x1F80;
  std::uint16_t x87 = 0x037F;

  static FloatControl now() noexcept {
    FloatControl control;
    control.sse = _mm_getcsr();
    __asm__ volatile("fnstcw %0" : "=m"(control.x87));
    return control;
  }
  void set() const noexcept {
    _mm_setcsr(sse);
    __asm__ volatile("fldcw %0" : : "m"(x87));
  }
  bool is_default() const noexcept {
    // All but the sticky exception flags and what is reserved.
    return (sse & 0xFFC0) == 0x1F80 && (x87 & 0x0F3F) == 0x033F;
  }
};

// Rounding to nearest, gradual underflow, no traps while it lives; costs a read where that is so
// already.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept : callers_(FloatControl::now()) {
    if (!callers_.is_default()) FloatControl().set();
  }
  ~DefaultFloatEnvironment() {
    if (!callers_.is_default()) callers_.set();
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;

 private:
  FloatControl callers_;
};

// Puts the state back that it found, whatever happened in between.
class KeepFloatEnvironment {
 public:
  KeepFloatEnvironment() noexcept : callers_(FloatControl::now()) {}
  ~KeepFloatEnvironment() { callers_.set(); }
  KeepFloatEnvironment(const KeepFloatEnvironment &) = delete;
  KeepFloatEnvironment &operator=(const KeepFloatEnvironment &) = delete;

 private:
  FloatControl callers_;
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
