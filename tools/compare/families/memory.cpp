// Rows of the families memory, transfer and random.
#include "compare/operations.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace torchlean::tools {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// bfloat16 and e4m3fn: words of two bytes and of one.
constexpr tl_format encoded_formats[] = {{8, 7, 127, TL_ENCODING_IEEE},
                                         {4, 3, 7, TL_ENCODING_FINITE_MAX_NAN}};

Array any_words(const Generator &generator, Random &random, std::uint64_t count) {
  if (generator.dtype() == TL_ENCODED)
    return encoded_words(random, encoded_formats[count % 2], count);
  return wide_values(random, generator.dtype(), count);
}

void word_cases(const Generator &generator) {
  for (const std::uint64_t n : generator.lengths()) {
    generator.add("wide", fmt::format("n={}", n), [&](Case &one, Random &random) {
      one.inputs = {any_words(generator, random, n)};
      one.number = n;
    });
  }
  if (generator.dtype() == TL_ENCODED) return;
  generator.add("special", "all", [&](Case &one, Random &random) {
    one.inputs = special_combinations(random, one.dtype, 1);
    one.number = one.inputs[0].size();
  });
}

// Conversions between the two native dtypes: `other` is the source or the target.
void transfer_cases(const Generator &generator) {
  word_cases(generator);
  for (const std::uint64_t n : generator.lengths()) {
    generator.add("converted", fmt::format("n={}", n), [&](Case &one, Random &random) {
      one.other_dtype = one.dtype == TL_FLOAT32 ? TL_FLOAT64 : TL_FLOAT32;
      one.inputs = {one.operation == "upload" ? ordinary_values(random, one.other_dtype, n)
                                              : ordinary_values(random, one.dtype, n)};
    });
  }
  generator.add("converted", "special", [&](Case &one, Random &random) {
    one.other_dtype = one.dtype == TL_FLOAT32 ? TL_FLOAT64 : TL_FLOAT32;
    one.inputs =
        special_combinations(random, one.operation == "upload" ? one.other_dtype : one.dtype, 1);
  });
}

void length_cases(const Generator &generator) {
  for (const std::uint64_t n : generator.lengths()) {
    generator.add("zero", fmt::format("n={}", n), [&](Case &one, Random &) { one.length = n; });
  }
}

void full_cases(const Generator &generator) {
  for (const std::uint64_t n : generator.lengths()) {
    generator.add("value", fmt::format("n={}:1.1", n), [&](Case &one, Random &) {
      one.length = n;
      one.scalars = {1.1};
    });
  }
  for (const double value : {0.0, -0.0, 1e-45, 1e300, -1e300, infinity, std::nan("")}) {
    generator.add("value", fmt::format("n=65:{}", value), [&](Case &one, Random &) {
      one.length = 65;
      one.scalars = {value};
    });
  }
}

// Keys: none, small, one whose counters wrap around, a random one.
void random_cases(const Generator &generator, const std::vector<std::vector<double>> &scalars) {
  for (const auto &values : scalars) {
    const std::string label = values.empty() ? "" : fmt::format(":{}", fmt::join(values, ":"));
    for (const std::uint64_t n : generator.lengths()) {
      generator.add("random", fmt::format("n={}{}", n, label), [&](Case &one, Random &random) {
        one.length = n;
        one.scalars = values;
        one.number = random.next();
      });
    }
    for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{42}, ~std::uint64_t{0} - 100}) {
      generator.add("key", fmt::format("n=257:key={}{}", key, label), [&](Case &one, Random &) {
        one.length = 257;
        one.scalars = values;
        one.number = key;
      });
    }
  }
}

Outcome run_upload(const Case &one) {
  // to_backend keeps the source's dtype; the conversion is what is tested here.
  std::vector<double> doubles;
  std::vector<float> floats;
  if (one.other_dtype == one.dtype) return outcome(input(one, 0));
  for (std::uint64_t i = 0; i < one.inputs[0].size(); ++i) {
    doubles.push_back(one.inputs[0].value(i));
    floats.push_back(static_cast<float>(one.inputs[0].value(i)));
  }
  return outcome(one.other_dtype == TL_FLOAT64 ? upload(doubles, one.dtype)
                                               : upload(floats, one.dtype));
}

Outcome run_download(const Case &one) {
  const Buffer x = input(one, 0);
  if (one.other_dtype == one.dtype) return outcome(x);
  Array array{one.other_dtype, {}, {}};
  if (one.other_dtype == TL_FLOAT64) {
    for (const double value : download<double>(x)) array.bits.push_back(to_bits(TL_FLOAT64, value));
  } else {
    for (const float value : download<float>(x)) {
      array.bits.push_back(to_bits(TL_FLOAT32, static_cast<double>(value)));
    }
  }
  return {{array}, false};
}

}  // namespace

std::vector<Operation> memory_operations() {
  return {
      {.name = "zeros",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = length_cases,
       .run = [](const Case &c) { return outcome(zeros(c.length, c.dtype)); },
       .needs_proof = false},
      {.name = "full",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = full_cases,
       .run = [](const Case &c) { return outcome(full(c.length, c.scalars[0], c.dtype)); }},
      {.name = "zeros_like",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .run = [](const Case &c) { return outcome(zeros_like(input(c, 0), c.number)); },
       .needs_proof = false},
      {.name = "copy",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .run = [](const Case &c) { return outcome(copy(input(c, 0))); }},
      {.name = "duplicate",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .run =
           [](const Case &c) {
             const auto [first, second] = duplicate(input(c, 0));
             return outcome(first, second);
           }},
      {.name = "upload",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = transfer_cases,
       .run = run_upload},
      {.name = "download",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = transfer_cases,
       .run = run_download},
      {.name = "upload_encoded",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .run = [](const Case &c) { return outcome(input(c, 0)); }},
      {.name = "download_encoded",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .run = [](const Case &c) { return outcome(input(c, 0)); }},
      {.name = "rand_uniform",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = [](const Generator &g) { random_cases(g, {{}}); },
       .run = [](const Case &c) { return outcome(rand_uniform(c.length, c.number, c.dtype)); }},
      {.name = "rand_normal",
       .rule = Rule::bounded,
       .budget = "8 eps |std| (1 + r) + eps |mean|, of each backend",
       .cases =
           [](const Generator &g) {
             random_cases(g, {{0, 1}, {3, 0.5}, {-1e5, 0}});
           },
       .run =
           [](const Case &c) {
             return outcome(rand_normal(c.length, c.scalars[0], c.scalars[1], c.number, c.dtype));
           },
       .bound = rand_normal_bound},
      {.name = "bernoulli_mask",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases =
           [](const Generator &g) {
             random_cases(g, {{0.3}, {0.5}, {0}, {1}, {-1}, {2}, {0.999999999}, {std::nan("")}});
           },
       .run =
           [](const Case &c) {
             return outcome(bernoulli_mask(c.length, c.scalars[0], c.number, c.dtype));
           }},
  };
}

}  // namespace torchlean::tools
