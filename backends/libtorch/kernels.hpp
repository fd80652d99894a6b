// Loops over host memory for what ATen does not compute exactly as specified.
//
// They run on ATen's own threads. Their results depend on the operands alone: each step is an IEEE
// operation or a function of the C library, at any vector width.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

// The compiler makes a second version of each loop for processors with AVX2 and FMA and chooses
// when the file is opened. std::fma is one instruction there, a library call in the first version.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define TL_LOOP __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define TL_LOOP
#endif

#if defined(__GNUC__) && !defined(__clang__) && \
    (!defined(__NO_MATH_ERRNO__) || !defined(__NO_TRAPPING_MATH__))
#error \
    "-fno-math-errno and -fno-trapping-math are not in force: sqrt and floor would not be vectors"
#endif

namespace torchlean::libtorch {

template <class T>
using Bits = std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;

// condition ? a : b, both of them computed: a branch would keep the compiler from making vectors.
template <class T>
[[gnu::always_inline]] inline T choose(bool condition, T a, T b) {
  const Bits<T> mask = -static_cast<Bits<T>>(condition);
  return std::bit_cast<T>((std::bit_cast<Bits<T>>(a) & mask) | (std::bit_cast<Bits<T>>(b) & ~mask));
}

// Elements per task below which a second thread does not pay: as ATen has it, and for functions of
// the C library, which take some 10 ns per element.
inline constexpr int64_t cheap_grain = 32768;
inline constexpr int64_t costly_grain = 2048;

namespace detail {
template <class Body>
TL_LOOP void each_in_range(int64_t begin, int64_t end, Body body) {
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) body(i);
}
}  // namespace detail

// body(i) for i in [0, count), in any order. Bodies write places of their own; they may write over
// the element of an input that they read.
template <class Body>
void each(int64_t count, int64_t grain, Body body) {
  at::parallel_for(0, count, grain,
                   [&](int64_t begin, int64_t end) { detail::each_in_range(begin, end, body); });
}

template <class Body>
void each(int64_t count, Body body) {
  each(count, cheap_grain, body);
}

// task(i) for i in [0, count), where each task handles about `work` elements.
template <class Task>
void each_task(int64_t count, int64_t work, Task &&task) {
  const int64_t grain = work >= cheap_grain ? 1 : cheap_grain / (work > 0 ? work : 1);
  at::parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) task(i);
  });
}

// task(o, begin, width) for the strips of at most `strip` columns of (outer, n, inner).
template <class Task>
void each_strip(int64_t outer, int64_t n, int64_t inner, int64_t strip, Task &&task) {
  const int64_t strips = (inner + strip - 1) / strip;
  each_task(outer * strips, n * std::min(inner, strip), [&](int64_t i) {
    const int64_t begin = i % strips * strip;
    task(i / strips, begin, std::min(strip, inner - begin));
  });
}

}  // namespace torchlean::libtorch
