// Making cases.
#include "compare/cases.hpp"

#include "common/backends.hpp"
#include "compare/case_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace torchlean::tools {
namespace {

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char character : text) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3U;
  }
  return hash;
}

double signed_uniform(Random &random) { return 2 * random.uniform() - 1; }

std::vector<std::uint64_t> make_special_words(tl_dtype dtype) {
  const Limits &limits = limits_of(dtype);
  const std::uint64_t smallest_normal = to_bits(dtype, limits.smallest_normal);
  const std::uint64_t one = to_bits(dtype, 1);
  const std::uint64_t quiet = limits.infinity_bits | (limits.infinity_bits >> 1);
  std::vector<std::uint64_t> words = {0,
                                      1,
                                      smallest_normal - 1,
                                      smallest_normal,
                                      one - 1,
                                      one,
                                      one + 1,
                                      limits.infinity_bits - 1,  // the largest finite number
                                      limits.infinity_bits,
                                      quiet,
                                      quiet | 0x123,              // a payload
                                      limits.infinity_bits | 1};  // a signalling NaN
  // Halves, the edges of whole numbers, of exp and of sigmoid, and multiples of pi.
  for (const double value :
       {0.5,  1.5,  2.0,  2.5,   1e-5,  0x1p23, 0x1p24, 0x1p52, 0x1p53, 3.141592653589793,
        1e5,  1e22, 17.0, 88.72, 88.73, 103.9,  104.0,  709.7,  709.8,  745.1,
        745.2}) {
    words.push_back(to_bits(dtype, value));
  }
  words.push_back(to_bits(dtype, std::sqrt(limits.largest)));
  words.push_back(to_bits(dtype, std::sqrt(limits.smallest_normal)));
  const std::size_t count = words.size();
  for (std::size_t i = 0; i < count; ++i) words.push_back(words[i] | limits.sign_bit);
  return words;
}

template <class Make>
Array filled(tl_dtype dtype, std::uint64_t count, Make make) {
  Array array{dtype, {}, {}};
  array.bits.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) array.bits.push_back(make(i));
  return array;
}

std::uint64_t ordinary_word(Random &random, tl_dtype dtype) {
  const double magnitude = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(9)) - 4);
  return to_bits(dtype, random.below(2) == 0 ? magnitude : -magnitude);
}

template <class T>
void append(std::vector<T> &to, std::initializer_list<T> more) {
  to.insert(to.end(), more);
}

}  // namespace

constexpr std::array size_names = {"small", "default", "large"};

const char *size_name(Size size) { return size_names[static_cast<std::size_t>(size)]; }

std::optional<Size> size_of(std::string_view name) {
  const auto found = std::find(size_names.begin(), size_names.end(), name);
  if (found == size_names.end()) return std::nullopt;
  return static_cast<Size>(found - size_names.begin());
}

std::string Case::name() const {
  if (kind == literal_kind) return literal_text(*this);
  return fmt::format("{}[{}, {}, {}]", operation, dtype_name(dtype), kind, shape);
}

std::string dims_text(const std::vector<std::uint64_t> &dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

std::uint64_t product_of(const std::vector<std::uint64_t> &dims) {
  return std::accumulate(dims.begin(), dims.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

void Generator::add(std::string_view kind, std::string_view shape,
                    const std::function<void(Case &, Random &)> &fill) const {
  Case one;
  one.operation = plan_.operation;
  one.dtype = plan_.dtype;
  one.other_dtype = plan_.dtype;
  one.kind = kind;
  one.shape = shape;
  if (!plan_.wanted(one)) return;
  Random random(plan_.seed ^ hash_of(one.name()));
  fill(one, random);
  plan_.sink(one);
}

void Generator::refuse(std::string_view label,
                       const std::function<void(Case &, Random &)> &fill) const {
  add("wrong", label, [&](Case &one, Random &random) {
    fill(one, random);
    one.must_be_refused = true;
  });
}

std::vector<std::uint64_t> Generator::lengths() const {
  std::vector<std::uint64_t> list = {0, 1, 2, 7, 64, 65, 257};
  if (plan_.size >= Size::standard)
    append<std::uint64_t>(list, {3, 31, 127, 128, 129, 1023, 1024, 1025, 4099});
  if (plan_.size >= Size::large) append<std::uint64_t>(list, {65535, 65536, 65537, 1000003});
  return list;
}

std::vector<std::vector<std::uint64_t>> Generator::matrices() const {
  std::vector<std::vector<std::uint64_t>> list = {{0, 3}, {3, 0},  {1, 1},  {1, 7},
                                                  {7, 1}, {5, 64}, {64, 5}, {17, 31}};
  if (plan_.size >= Size::standard) {
    append<std::vector<std::uint64_t>>(list, {{63, 129}, {257, 3}, {3, 1025}, {65537, 2}});
  }
  if (plan_.size >= Size::large) {
    append<std::vector<std::uint64_t>>(list, {{1, 65537}, {997, 1009}});
  }
  return list;
}

Array ordinary_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  return filled(dtype, count, [&](std::uint64_t) { return ordinary_word(random, dtype); });
}

Array wide_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const std::uint64_t used = dtype == TL_FLOAT32 ? 0xFFFFFFFFU : ~std::uint64_t{0};
  return filled(dtype, count, [&](std::uint64_t) { return random.next() & used; });
}

Array tiny_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const double unit = 4 * limits_of(dtype).smallest_normal;
  return filled(dtype, count,
                [&](std::uint64_t) { return to_bits(dtype, unit * signed_uniform(random)); });
}

Array cancelling_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  double last = 0;
  return filled(dtype, count, [&](std::uint64_t i) {
    last = i % 2 == 0 ? 1e6 * signed_uniform(random) : -last + 1e-3 * signed_uniform(random);
    return to_bits(dtype, last);
  });
}

Array sprinkled_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const std::vector<std::uint64_t> &specials = special_words(dtype);
  return filled(dtype, count, [&](std::uint64_t) {
    return random.below(16) == 0 ? specials[random.below(specials.size())]
                                 : ordinary_word(random, dtype);
  });
}

Array tied_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  return filled(dtype, count, [&](std::uint64_t) {
    return to_bits(dtype, static_cast<double>(random.below(5)) - 2);
  });
}

Array spread_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const double reach = std::log(limits_of(dtype).largest);
  return filled(dtype, count,
                [&](std::uint64_t) { return to_bits(dtype, reach * signed_uniform(random)); });
}

Array absent_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const Limits &limits = limits_of(dtype);
  return filled(dtype, count, [&](std::uint64_t) {
    return random.below(4) == 0 ? limits.infinity_bits | limits.sign_bit
                                : ordinary_word(random, dtype);
  });
}

Array huge_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const double largest = limits_of(dtype).largest;
  return filled(dtype, count,
                [&](std::uint64_t) { return to_bits(dtype, largest * signed_uniform(random)); });
}

const std::vector<std::uint64_t> &special_words(tl_dtype dtype) {
  static const std::vector<std::uint64_t> float32 = make_special_words(TL_FLOAT32);
  static const std::vector<std::uint64_t> float64 = make_special_words(TL_FLOAT64);
  return dtype == TL_FLOAT32 ? float32 : float64;
}

std::vector<Array> special_combinations(Random &random, tl_dtype dtype, std::size_t operands) {
  constexpr std::uint64_t most = 6000;
  const std::vector<std::uint64_t> &specials = special_words(dtype);
  std::vector<Array> arrays(operands, Array{dtype, {}, {}});
  std::uint64_t combinations = 1;
  for (std::size_t k = 0; k < operands; ++k) combinations *= specials.size();
  for (std::uint64_t i = 0; i < std::min(combinations, most); ++i) {
    std::uint64_t choice = combinations <= most ? i : random.below(combinations);
    for (Array &array : arrays) {
      array.bits.push_back(specials[choice % specials.size()]);
      choice /= specials.size();
    }
  }
  return arrays;
}

Array encoded_words(Random &random, const tl_format &format, std::uint64_t count) {
  const std::uint64_t used =
      (std::uint64_t{2} << (format.exponent_bits + format.fraction_bits)) - 1;
  Array array = filled(TL_ENCODED, count, [&](std::uint64_t) { return random.next() & used; });
  array.format = format;
  return array;
}

}  // namespace torchlean::tools
