// One source, compiled for several sets of vector instructions; which of them runs is decided when
// an instance is created.
//
// A kernel file looks like this, and is compiled from the first line to the last once per target:
//
//   #include "cpu.hpp"                     // whatever has no vectors in it, before the next lines
//   #define HWY_TARGET_INCLUDE "family.cpp"
//   #include "targets.hpp"                 // and nothing else before
//   #include <hwy/foreach_target.h>
//   #include <hwy/highway.h>
//   #include "simd-inl.h"                  // more of such headers, guarded as that one is
//
//   HWY_BEFORE_NAMESPACE();
//   namespace torchlean::cpu::HWY_NAMESPACE {
//   void add(const float *a, const float *b, float *y, uint64_t count) { ... }
//   struct Kernels { void (*add)(...); };  // or any other constant
//   constexpr Kernels kernels = {add};
//   }
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace torchlean::cpu { ... TORCHLEAN_CPU_CHOOSE(instance.target, add)(a, b, y, count); ...
//   } #endif
//
// Between BEFORE and AFTER nothing of the standard library is instantiated that other files use,
// too: code for a wider target would replace theirs.
//
// Nor do kernels call functions of their file that stand outside: GCC knows which registers such a
// one spares and does not clear the upper halves of vectors before it. On Intel's processors each
// change to its SSE instructions and back then takes some hundred cycles.
#pragma once

#include "cpu.hpp"

// What Highway compiles for, on x86-64: any processor, AVX2 with FMA, AVX-512 (F, VL, DQ, BW). For
// the first this compiler gets Highway's scalar or emulated target. Elsewhere there is one target,
// the best that the build allows.
#if defined(__x86_64__)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// One is enough to check, and takes a third of the time.
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_COMPILE_ONLY_STATIC
#else
#define HWY_BASELINE_TARGETS HWY_BASELINE_SCALAR
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#else
#define HWY_COMPILE_ONLY_STATIC
// Their vectors have no size, so that no structure could hold one.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#include <hwy/detect_targets.h>

// TORCHLEAN_CPU_CHOOSE(target, name): the function or constant `name` of that target's namespace.
// In the code for HWY_ONCE, HWY_NAMESPACE is the least target's.
#if HWY_TARGETS & HWY_AVX3
#define TORCHLEAN_CPU_CHOOSE(target, ...)                                           \
  ::torchlean::cpu::choose(target, HWY_NAMESPACE::__VA_ARGS__, N_AVX2::__VA_ARGS__, \
                           N_AVX3::__VA_ARGS__)
#else
#define TORCHLEAN_CPU_CHOOSE(target, ...)                                                  \
  ::torchlean::cpu::choose(target, HWY_NAMESPACE::__VA_ARGS__, HWY_NAMESPACE::__VA_ARGS__, \
                           HWY_NAMESPACE::__VA_ARGS__)
#endif

// TORCHLEAN_CPU_KERNELS(Kernels, getter) defines `const Kernels<T> &getter(Target)` for float and
// double, as the constant `kernels<T>` of that target's namespace: for a file of kernels alone.
#define TORCHLEAN_CPU_KERNELS(Kernels, getter)                                   \
  template <>                                                                    \
  const torchlean::cpu::Kernels<float> &torchlean::cpu::getter(Target target) {  \
    return TORCHLEAN_CPU_CHOOSE(target, kernels<float>);                         \
  }                                                                              \
  template <>                                                                    \
  const torchlean::cpu::Kernels<double> &torchlean::cpu::getter(Target target) { \
    return TORCHLEAN_CPU_CHOOSE(target, kernels<double>);                        \
  }

namespace torchlean::cpu {

template <class T>
constexpr const T &choose(Target target, const T &baseline, const T &avx2, const T &avx512) {
  return target == Target::avx512 ? avx512 : target == Target::avx2 ? avx2 : baseline;
}

// The best target that was compiled and that processor and system support, or the one that
// TORCHLEAN_CPU_TARGET asks for. Throws TL_UNAVAILABLE where that cannot be.
Target chosen_target();

// "AVX-512"
const char *name_of(Target target);

}  // namespace torchlean::cpu
