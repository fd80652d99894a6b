// Words of encoded formats, for the operations that move them.
#pragma once

#include "conformance.hpp"

namespace torchlean::conformance {

inline constexpr tl_format e5m2 = {5, 2, 15, TL_ENCODING_IEEE};

// Of one, two, three, four, eight and more bytes, with and without unused high bits.
inline constexpr struct {
  const char *name;
  tl_format format;
} formats[] = {
    {"e5m2", e5m2},
    {"e2m1", {2, 1, 1, TL_ENCODING_FINITE}},
    {"e4m3fnuz", {4, 3, 8, TL_ENCODING_FINITE_UNSIGNED_ZERO}},
    {"binary16", {5, 10, 15, TL_ENCODING_IEEE}},
    {"tf32", {8, 10, 127, TL_ENCODING_IEEE}},
    {"binary32", {8, 23, 127, TL_ENCODING_IEEE}},
    {"binary64", {11, 52, 1023, TL_ENCODING_IEEE}},
    {"binary128", {15, 112, 16383, TL_ENCODING_IEEE}},
    {"256 bits", {19, 236, 262143, TL_ENCODING_IEEE}},
};

inline std::uint64_t width_of(const tl_format &format) {
  return (1 + format.exponent_bits + format.fraction_bits + 7) / 8;
}

// count words with every bit set or not, the unused high ones clear.
inline std::vector<std::byte> encoded_words(const tl_format &format, std::size_t count) {
  const std::uint64_t width = width_of(format);
  const std::uint64_t unused = 8 * width - (1 + format.exponent_bits + format.fraction_bits);
  std::vector<std::byte> words(count * width);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    words[i] = static_cast<std::byte>(width == 1 ? i : state >> 56U);
    if (i % width == width - 1) words[i] &= static_cast<std::byte>(0xFFU >> unused);
  }
  return words;
}

inline void check_words(Check &check, const Buffer &got, const tl_format &format,
                        const std::vector<std::byte> &expected) {
  std::uint32_t is_encoded = 0;
  tl_format kept = {};
  torchlean::check(tl_buffer_format(got.get(), &is_encoded, &kept));
  check.require(is_encoded == 1 && kept.exponent_bits == format.exponent_bits &&
                    kept.fraction_bits == format.fraction_bits &&
                    kept.exponent_bias == format.exponent_bias && kept.encoding == format.encoding,
                "the format is kept");
  check.require(download_encoded(got) == expected, "the words are kept");
}

}  // namespace torchlean::conformance
