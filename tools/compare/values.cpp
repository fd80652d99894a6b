// Host arrays: conversions, distances, transfer.
#include "compare/values.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace torchlean::tools {
namespace {

template <class T>
constexpr Limits make_limits(std::uint64_t sign_bit, std::uint64_t infinity_bits) {
  using Numbers = std::numeric_limits<T>;
  return {Numbers::epsilon(), Numbers::denorm_min(), Numbers::min(), Numbers::max(),
          sign_bit,           infinity_bits};
}

std::uint64_t magnitude(tl_dtype dtype, std::uint64_t bits) {
  return bits & ~limits_of(dtype).sign_bit;
}

// Orders the numbers by value; both zeros give 0.
std::int64_t ordinal(tl_dtype dtype, std::uint64_t bits) {
  const auto steps = static_cast<std::int64_t>(magnitude(dtype, bits));
  return (bits & limits_of(dtype).sign_bit) != 0 ? -steps : steps;
}

std::uint32_t word_width(const Array &array) {
  if (array.dtype == TL_FLOAT32) return 4;
  if (array.dtype == TL_FLOAT64) return 8;
  std::uint32_t width = 0;
  check(tl_format_width(&array.format, &width));
  return width;
}

std::vector<std::byte> pack(const std::vector<std::uint64_t> &words, std::uint32_t width) {
  std::vector<std::byte> bytes(words.size() * width);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint32_t k = 0; k < width; ++k) {
      bytes[i * width + k] = static_cast<std::byte>(words[i] >> (8 * k));
    }
  }
  return bytes;
}

std::vector<std::uint64_t> unpack(const std::vector<std::byte> &bytes, std::uint32_t width) {
  std::vector<std::uint64_t> words(bytes.size() / width);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint32_t k = 0; k < width; ++k) {
      words[i] |= std::to_integer<std::uint64_t>(bytes[i * width + k]) << (8 * k);
    }
  }
  return words;
}

}  // namespace

const Limits &limits_of(tl_dtype dtype) {
  static constexpr Limits float32 = make_limits<float>(0x80000000U, 0x7F800000U);
  static constexpr Limits float64 = make_limits<double>(0x8000000000000000U, 0x7FF0000000000000U);
  return dtype == TL_FLOAT32 ? float32 : float64;
}

std::uint64_t to_bits(tl_dtype dtype, double value) {
  if (dtype == TL_FLOAT32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

double to_value(tl_dtype dtype, std::uint64_t bits) {
  if (dtype == TL_FLOAT32) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return std::bit_cast<double>(bits);
}

double Array::value(std::uint64_t index) const { return to_value(dtype, bits[index]); }

bool is_nan(tl_dtype dtype, std::uint64_t bits) {
  return magnitude(dtype, bits) > limits_of(dtype).infinity_bits;
}

bool is_infinite(tl_dtype dtype, std::uint64_t bits) {
  return magnitude(dtype, bits) == limits_of(dtype).infinity_bits;
}

bool is_zero(tl_dtype dtype, std::uint64_t bits) { return magnitude(dtype, bits) == 0; }

std::uint64_t ulp_distance(tl_dtype dtype, std::uint64_t a, std::uint64_t b) {
  const auto first = static_cast<std::uint64_t>(ordinal(dtype, a));
  const auto second = static_cast<std::uint64_t>(ordinal(dtype, b));
  return ordinal(dtype, a) > ordinal(dtype, b) ? first - second : second - first;
}

double ulp_of(tl_dtype dtype, double value) {
  const Limits &limits = limits_of(dtype);
  if (std::fabs(value) < limits.smallest_normal) return limits.smallest_subnormal;
  return std::ldexp(limits.epsilon, std::ilogb(value));
}

std::string describe(tl_dtype dtype, std::uint64_t bits) {
  if (dtype == TL_FLOAT32) return fmt::format("{:.9g} (0x{:08x})", to_value(dtype, bits), bits);
  if (dtype == TL_FLOAT64) return fmt::format("{:.17g} (0x{:016x})", to_value(dtype, bits), bits);
  return fmt::format("0x{:x}", bits);
}

Array from_values(tl_dtype dtype, const std::vector<double> &values) {
  Array array{dtype, {}, {}};
  array.bits.reserve(values.size());
  for (const double value : values) array.bits.push_back(to_bits(dtype, value));
  return array;
}

Buffer to_backend(const Array &array) {
  if (array.dtype != TL_ENCODED) return to_backend_as(array, array.dtype);
  return upload_encoded(pack(array.bits, word_width(array)), array.format);
}

Buffer to_backend_as(const Array &array, tl_dtype target) {
  return upload_words(pack(array.bits, word_width(array)), array.dtype, target);
}

Array from_backend(const Buffer &buffer) {
  if (buffer.dtype() != TL_ENCODED) return from_backend_as(buffer, buffer.dtype());
  Array array{TL_ENCODED, {}, {}};
  std::uint32_t is_encoded = 0;
  check(tl_buffer_format(buffer.get(), &is_encoded, &array.format));
  array.bits = unpack(download_encoded(buffer), word_width(array));
  return array;
}

Array from_backend_as(const Buffer &buffer, tl_dtype target) {
  Array array{target, {}, {}};
  const std::uint32_t width = word_width(array);
  std::vector<std::byte> bytes(buffer.size() * width);
  check(tl_download(buffer.get(), target, bytes.data(), bytes.size()));
  array.bits = unpack(bytes, width);
  return array;
}

}  // namespace torchlean::tools
