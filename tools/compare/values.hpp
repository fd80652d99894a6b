// Arrays on the host, held as bits, and what is known of their dtype's numbers.
#pragma once

#include <torchlean/runtime.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace torchlean::tools {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Elements as raw words, so that NaN payloads and zero signs survive.
struct Array {
  tl_dtype dtype = TL_FLOAT32;
  tl_format format{};  // of encoded arrays only
  std::vector<std::uint64_t> bits;

  std::uint64_t size() const { return bits.size(); }
  double value(std::uint64_t index) const;  // native dtypes only
};

// What the judge needs to know of float32 and float64.
struct Limits {
  double epsilon;  // 2^-23 or 2^-52
  double smallest_subnormal;
  double smallest_normal;
  double largest;
  std::uint64_t sign_bit;
  std::uint64_t infinity_bits;
};
const Limits &limits_of(tl_dtype dtype);

// To nearest even.
std::uint64_t to_bits(tl_dtype dtype, double value);
double to_value(tl_dtype dtype, std::uint64_t bits);

bool is_nan(tl_dtype dtype, std::uint64_t bits);
bool is_infinite(tl_dtype dtype, std::uint64_t bits);
bool is_zero(tl_dtype dtype, std::uint64_t bits);

// Number of representable steps between two numbers, neither of them NaN; both zeros are one point.
std::uint64_t ulp_distance(tl_dtype dtype, std::uint64_t a, std::uint64_t b);

// Distance between the neighbours around a finite value.
double ulp_of(tl_dtype dtype, double value);

// "1.5 (0x3fc00000)"
std::string describe(tl_dtype dtype, std::uint64_t bits);

Array from_values(tl_dtype dtype, const std::vector<double> &values);

// Between host and this thread's backend, every bit kept.
Buffer to_backend(const Array &array);
Array from_backend(const Buffer &buffer);
// A native array or buffer converted to `target` on the way.
Buffer to_backend_as(const Array &array, tl_dtype target);
Array from_backend_as(const Buffer &buffer, tl_dtype target);

}  // namespace torchlean::tools
