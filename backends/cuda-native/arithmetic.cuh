// The arithmetic that kernels are written in: every step rounded once, to nearest even, as named.
//
// nvcc may contract a * b + c and g++ may not; written with these functions a formula gives the
// same bits under both. They are overloaded for float and double and may be used in device code
// only.
#pragma once

#include <cstdint>

#ifndef __CUDACC__
#include "emulation/cuda_language.hpp"

#include <bit>
#include <cmath>
#endif

namespace torchlean::cuda {

#ifdef __CUDACC__

__device__ inline float add_rn(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float sub_rn(float a, float b) { return __fsub_rn(a, b); }
__device__ inline float mul_rn(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float div_rn(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float sqrt_rn(float a) { return __fsqrt_rn(a); }
__device__ inline float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline float floor_exact(float a) { return ::floorf(a); }
__device__ inline double add_rn(double a, double b) { return __dadd_rn(a, b); }
__device__ inline double sub_rn(double a, double b) { return __dsub_rn(a, b); }
__device__ inline double mul_rn(double a, double b) { return __dmul_rn(a, b); }
__device__ inline double div_rn(double a, double b) { return __ddiv_rn(a, b); }
__device__ inline double sqrt_rn(double a) { return __dsqrt_rn(a); }
__device__ inline double fma_rn(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ inline double floor_exact(double a) { return ::floor(a); }

__device__ inline uint32_t bits_of(float a) { return __float_as_uint(a); }
__device__ inline uint64_t bits_of(double a) {
  return static_cast<uint64_t>(__double_as_longlong(a));
}
__device__ inline float from_bits(uint32_t bits) { return __uint_as_float(bits); }
__device__ inline double from_bits(uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}
__device__ inline float round_to_float(double a) { return __double2float_rn(a); }

// The upper half of the 128-bit product.
__device__ inline uint64_t multiply_high(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
// a != 0.
__device__ inline int leading_zeros(uint64_t a) { return __clzll(static_cast<long long>(a)); }

#else

// Compiled without contraction, plain expressions are these steps.
template <class T>
T add_rn(T a, T b) {
  return a + b;
}
template <class T>
T sub_rn(T a, T b) {
  return a - b;
}
template <class T>
T mul_rn(T a, T b) {
  return a * b;
}
template <class T>
T div_rn(T a, T b) {
  return a / b;
}
template <class T>
T sqrt_rn(T a) {
  return std::sqrt(a);
}
template <class T>
T fma_rn(T a, T b, T c) {
  return std::fma(a, b, c);
}
template <class T>
T floor_exact(T a) {
  return std::floor(a);
}

inline uint32_t bits_of(float a) { return std::bit_cast<uint32_t>(a); }
inline uint64_t bits_of(double a) { return std::bit_cast<uint64_t>(a); }
inline float from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
inline double from_bits(uint64_t bits) { return std::bit_cast<double>(bits); }
inline float round_to_float(double a) { return static_cast<float>(a); }

// The upper half of the 128-bit product.
inline uint64_t multiply_high(uint64_t a, uint64_t b) {
  __extension__ using Product = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Product>(a) * b) >> 64);
}
// a != 0.
inline int leading_zeros(uint64_t a) { return std::countl_zero(a); }

#endif

// The value in the other dtype, rounded to nearest even where it is narrower.
template <class To>
__device__ To convert(float a) {
  return a;
}
template <class To>
__device__ To convert(double a) {
  if constexpr (sizeof(To) == sizeof(float)) {
    return round_to_float(a);
  } else {
    return a;
  }
}

// Sign-bit operations: of zero and NaN too.
__device__ inline float absolute(float a) { return from_bits(bits_of(a) & 0x7fffffffu); }
__device__ inline double absolute(double a) { return from_bits(bits_of(a) & 0x7fffffffffffffffu); }
__device__ inline float negated(float a) { return from_bits(bits_of(a) ^ 0x80000000u); }
__device__ inline double negated(double a) { return from_bits(bits_of(a) ^ 0x8000000000000000u); }

template <class T>
__device__ bool is_nan(T a) {
  return a != a;
}

// C's fmax and fmin: the other operand where one is NaN. Of two zeros, the first.
template <class T>
__device__ T maximum(T a, T b) {
  return is_nan(a) || b > a ? b : a;
}
template <class T>
__device__ T minimum(T a, T b) {
  return is_nan(a) || b < a ? b : a;
}

}  // namespace torchlean::cuda
