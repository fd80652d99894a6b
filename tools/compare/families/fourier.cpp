// Rows of the family fourier.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <cmath>

namespace torchlean::tools {
namespace {

// So large that a transform just stays finite, for lengths up to some thousands.
Array large_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const double unit = std::ldexp(limits_of(dtype).largest, -26);
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(unit * (2 * random.uniform() - 1));
  return from_values(dtype, values);
}

// One element of each 64 differs from zero.
Array impulses(Random &random, tl_dtype dtype, std::uint64_t count) {
  Array array = from_values(dtype, std::vector<double>(count));
  for (std::uint64_t i = random.below(64); i < count; i += 1 + random.below(127)) {
    array.bits[i] = to_bits(dtype, 1 + random.uniform());
  }
  return array;
}

constexpr ValueKind signal_kinds[] = {
    {"ordinary", ordinary_values},  {"cancelling", cancelling_values}, {"impulses", impulses},
    {"tiny", tiny_values},          {"large", large_values},           {"huge", huge_values},
    {"sprinkled", sprinkled_values}};

// Batch and length.
std::vector<std::vector<std::uint64_t>> shapes_of(const Generator &generator, bool is_ordinary) {
  const bool is_small = generator.size() == Size::small;
  std::vector<std::vector<std::uint64_t>> shapes = {{0, 5}};
  for (const std::uint64_t n : {1,  2,  3,   4,   5,   6,   7,   8,    31,   32,   33,   64,
                                65, 97, 127, 128, 129, 134, 257, 1000, 1009, 1023, 1024, 1025}) {
    if (!is_small || n < 140) shapes.push_back({n < 100 ? 3U : 1U, n});
  }
  if (is_ordinary && !is_small) {
    for (const std::uint64_t n : {4096, 4097, 4099, 65536}) shapes.push_back({1, n});
    shapes.push_back({64, 256});
    shapes.push_back({65537, 2});
  }
  if (is_ordinary && generator.size() == Size::large) {
    shapes.push_back({1, 65537});
    shapes.push_back({64, 4096});
  }
  return shapes;
}

std::uint64_t packed_width(std::uint64_t n) { return 2 * (n / 2 + 1); }

template <bool is_inverse>
void transform_cases(const Generator &generator) {
  for (const ValueKind &kind : signal_kinds) {
    for (const auto &dims : shapes_of(generator, kind.make == ordinary_values)) {
      const std::uint64_t width = is_inverse ? packed_width(dims[1]) : dims[1];
      generator.add(kind.name, dims_text(dims), [&](Case &one, Random &random) {
        one.inputs = {kind.make(random, one.dtype, dims[0] * width)};
        one.dims = dims;
      });
    }
  }
}

// NaN where no real signal has an imaginary part, which an inverse ignores.
void inverse_cases(const Generator &generator) {
  transform_cases<true>(generator);
  for (const std::uint64_t n : {1, 2, 5, 6, 128, 1009}) {
    generator.add("ignored", dims_text({3, n}), [&](Case &one, Random &random) {
      const std::uint64_t width = packed_width(n);
      one.inputs = {ordinary_values(random, one.dtype, 3 * width)};
      one.dims = {3, n};
      for (std::uint64_t i = 0; i < 3 * width; ++i) {
        const bool is_ignored = i % width == 1 || (n % 2 == 0 && i % width == n + 1);
        if (is_ignored) one.inputs[0].bits[i] = to_bits(one.dtype, nan_value);
      }
    });
  }
}

template <bool is_inverse>
void wrong_transform(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, is_inverse ? 18 : 15)};
    one.dims = {3, 5};
  };
  wrong_operands(generator, right);
  const auto refuse = [&](const char *label, const std::vector<std::uint64_t> &dims) {
    generator.refuse(label, [&](Case &one, Random &random) {
      right(one, random);
      one.dims = dims;
    });
  };
  refuse("overflowing-dims", {too_many, too_many});
  refuse("largest-length", {1, ~std::uint64_t{0}});
  generator.refuse("no-length", [](Case &one, Random &) {
    one.inputs = {Array{one.dtype, {}, {}}};
    one.dims = {0, 0};
  });
}

using Transform = Buffer (*)(const Buffer &, std::uint64_t, std::uint64_t);

template <Transform transform>
Results run(const Case &c, const Inputs &in) {
  return results(transform(in.at(0), c.dims.at(0), c.dims.at(1)));
}

// All of the transform that an element belongs to.
Terms transform_terms(const Case &one, const Place &place) {
  const std::uint64_t n = one.dims[1];
  const bool is_inverse = one.operation != "rfft1d_packed";
  const std::uint64_t width = is_inverse ? packed_width(n) : n;
  const std::uint64_t row = place.index / (is_inverse ? n : packed_width(n));
  Terms terms;
  for (std::uint64_t i = 0; i < width; ++i) terms.emplace_back(0, row * width + i);
  return terms;
}

template <Transform transform, bool is_inverse>
Operation row(const char *name) {
  return {.name = name,
          .rule = Rule::bounded,
          .budget = "4 eps (log2 n + 1) of the norm of each transform",
          .cases = is_inverse ? inverse_cases : transform_cases<false>,
          .wrong = wrong_transform<is_inverse>,
          .call = run<transform>,
          .standard = fourier_standard,
          .terms = transform_terms,
          .shape = is_inverse ? spectrum_shape : signal_shape};
}

}  // namespace

std::vector<Operation> fourier_operations() {
  return {
      row<rfft1d_packed, false>("rfft1d_packed"),
      row<irfft1d_packed, true>("irfft1d_packed"),
      row<irfft1d_packed_unnormalized, true>("irfft1d_packed_unnormalized"),
  };
}

}  // namespace torchlean::tools
