// Which vector instructions this process computes with.
#include "targets.hpp"

#include <hwy/highway.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

// Where a check of Highway's own fails, which it makes under a sanitizer and without optimisation.
// Its library has this, which is not linked.
void hwy::Abort(const char *file, int line, const char *, ...) {
  std::fprintf(stderr, "%s:%d: a check of Highway failed\n", file, line);
  std::abort();
}

namespace torchlean::cpu {
namespace {

struct Named {
  const char *option;  // the value of TORCHLEAN_CPU_TARGET
  Target target;
};
constexpr Named names[] = {
    {"baseline", Target::baseline}, {"avx2", Target::avx2}, {"avx512", Target::avx512}};

bool is_compiled(Target target) {
  switch (target) {
    case Target::avx512: return (HWY_TARGETS & HWY_AVX3) != 0;
    case Target::avx2: return (HWY_TARGETS & HWY_AVX2) != 0;
    default: return HWY_STATIC_TARGET != HWY_AVX2;
  }
}

// By the processor, and by the system, which has to save the registers.
bool is_supported(Target target) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  switch (target) {
    case Target::avx512: return avx2 && avx512;
    case Target::avx2: return avx2;
    default: return true;
  }
#else
  return target == Target::baseline;
#endif
}

bool serves(Target target) { return is_compiled(target) && is_supported(target); }

}  // namespace

Target chosen_target() {
  const char *const option = host->option("TORCHLEAN_CPU_TARGET");
  const std::string_view wanted = option == nullptr ? "auto" : option;
  for (const Named &named : names) {
    if (wanted != named.option) continue;
    if (serves(named.target)) return named.target;
    throw Failure(TL_UNAVAILABLE,
                  std::string("TORCHLEAN_CPU_TARGET is '") + named.option + "', which " +
                      (is_compiled(named.target) ? "this processor or system does not support"
                                                 : "this build was not compiled for"));
  }
  for (const Target target : {Target::avx512, Target::avx2, Target::baseline})
    if (serves(target)) return target;
  throw Failure(TL_UNAVAILABLE, "this build was compiled for AVX2 alone, which is not there");
}

const char *name_of(Target target) {
  switch (target) {
    case Target::avx512: return "AVX-512";
    case Target::avx2: return "AVX2";
#if defined(__x86_64__)
    default: return "SSE2";
#else
    default: return "baseline vectors";
#endif
  }
}

}  // namespace torchlean::cpu
