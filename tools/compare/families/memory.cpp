// Rows of the families memory, transfer and random.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace torchlean::tools {
namespace {

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

Results run_upload(const Case &one, const Inputs &) {
  return results(to_backend_as(one.inputs.at(0), one.dtype));
}

void right_word(Case &one, Random &random) {
  one.inputs = {one.dtype == TL_ENCODED ? encoded_words(random, encoded_formats[0], 5)
                                        : ordinary_values(random, one.dtype, 5)};
  one.number = 5;
}

void wrong_copies(const Generator &generator) {
  wrong_operands(generator, right_word, {.takes_encoded = true, .has_fixed_length = false});
}

void wrong_zeros_like(const Generator &generator) {
  wrong_copies(generator);
  generator.refuse("too-long", [](Case &one, Random &random) {
    right_word(one, random);
    one.number = too_many;
  });
}

void refuse_call(const Generator &generator, const char *label,
                 void (*call)(const Case &, const Inputs &)) {
  generator.refuse(label, [&](Case &one, Random &random) {
    right_word(one, random);
    one.wrong_call = call;
  });
}

void wrong_upload(const Generator &generator) {
  static constexpr std::array<std::byte, 16> words = {};
  refuse_call(generator, "part-of-a-word", [](const Case &c, const Inputs &) {
    upload_words(std::span(words).first(15), c.dtype, c.dtype);
  });
  refuse_call(generator, "source-encoded",
              [](const Case &c, const Inputs &) { upload_words(words, TL_ENCODED, c.dtype); });
  refuse_call(generator, "dtype-unknown",
              [](const Case &c, const Inputs &) { upload_words(words, c.dtype, TL_DTYPE_COUNT); });
}

void wrong_download(const Generator &generator) {
  wrong_operands(generator, right_word, {.has_fixed_length = false});
  refuse_call(generator, "too-small-target", [](const Case &c, const Inputs &in) {
    std::array<std::byte, 8> words;
    check(tl_download(in.at(0).get(), c.dtype, words.data(), words.size()));
  });
  refuse_call(generator, "target-encoded", [](const Case &, const Inputs &in) {
    std::array<std::byte, 40> words;
    check(tl_download(in.at(0).get(), TL_ENCODED, words.data(), words.size()));
  });
}

void wrong_encoded_upload(const Generator &generator) {
  refuse_call(generator, "high-bits-set", [](const Case &, const Inputs &) {
    constexpr tl_format six_bits = {3, 2, 3, TL_ENCODING_FINITE};
    upload_encoded(std::array{std::byte{0x3F}, std::byte{0x40}}, six_bits);
  });
  refuse_call(generator, "part-of-a-word", [](const Case &, const Inputs &) {
    upload_encoded(std::array<std::byte, 3>{}, encoded_formats[0]);
  });
  refuse_call(generator, "impossible-format", [](const Case &, const Inputs &) {
    upload_encoded(std::array<std::byte, 2>{}, {1, 7, 127, TL_ENCODING_IEEE});
  });
}

void wrong_encoded_download(const Generator &generator) {
  wrong_operands(generator, right_word, {.takes_encoded = true, .has_fixed_length = false});
  refuse_call(generator, "too-small-target", [](const Case &, const Inputs &in) {
    std::array<std::byte, 4> words;
    check(tl_download_encoded(in.at(0).get(), words.data(), words.size()));
  });
}

// The rows' calls, with a dtype of their own.
void make_zeros(const Case &c, tl_dtype dtype) { zeros(c.length, dtype); }
void make_full(const Case &c, tl_dtype dtype) { full(c.length, c.scalars.at(0), dtype); }
void make_uniform(const Case &c, tl_dtype dtype) { rand_uniform(c.length, c.number, dtype); }
void make_normal(const Case &c, tl_dtype dtype) {
  rand_normal(c.length, c.scalars.at(0), c.scalars.at(1), c.number, dtype);
}
void make_mask(const Case &c, tl_dtype dtype) {
  bernoulli_mask(c.length, c.scalars.at(0), c.number, dtype);
}

}  // namespace

std::vector<Operation> memory_operations() {
  return {
      {.name = "zeros",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = length_cases,
       .wrong = wrong_creation<make_zeros>,
       .call = [](const Case &c, const Inputs &) { return results(zeros(c.length, c.dtype)); },
       .shape = length_shape,
       .needs_proof = false},
      {.name = "full",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = full_cases,
       .wrong = wrong_creation<make_full>,
       .call = [](const Case &c,
                  const Inputs &) { return results(full(c.length, c.scalars.at(0), c.dtype)); },
       .shape = length_shape},
      {.name = "zeros_like",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .wrong = wrong_zeros_like,
       .call = [](const Case &c,
                  const Inputs &in) { return results(zeros_like(in.at(0), c.number)); },
       .shape = counted_shape,
       .needs_proof = false},
      {.name = "copy",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .wrong = wrong_copies,
       .call = [](const Case &, const Inputs &in) { return results(copy(in.at(0))); }},
      {.name = "duplicate",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .wrong = wrong_copies,
       .call =
           [](const Case &, const Inputs &in) {
             std::pair<Buffer, Buffer> copies = duplicate(in.at(0));
             return results(std::move(copies.first), std::move(copies.second));
           }},
      {.name = "upload",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = transfer_cases,
       .wrong = wrong_upload,
       .call = run_upload},
      {.name = "download",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = transfer_cases,
       .wrong = wrong_download,
       .call = [](const Case &c, const Inputs &in) -> Results {
         return {.arrays = {from_backend_as(in.at(0), c.other_dtype)}};
       }},
      {.name = "upload_encoded",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .wrong = wrong_encoded_upload,
       .call = [](const Case &c, const Inputs &) { return results(to_backend(c.inputs.at(0))); }},
      {.name = "download_encoded",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = word_cases,
       .wrong = wrong_encoded_download,
       .call = [](const Case &, const Inputs &in) -> Results {
         return {.arrays = {from_backend(in.at(0))}};
       }},
      {.name = "rand_uniform",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = [](const Generator &g) { random_cases(g, {{}}); },
       .wrong = wrong_creation<make_uniform>,
       .call = [](const Case &c,
                  const Inputs &) { return results(rand_uniform(c.length, c.number, c.dtype)); },
       .shape = length_shape},
      {.name = "rand_normal",
       .rule = Rule::bounded,
       .budget = "8 eps |std| (1 + r) + eps |mean|, of each backend",
       .cases =
           [](const Generator &g) {
             random_cases(g, {{0, 1}, {3, 0.5}, {-1e5, 0}});
           },
       .wrong = wrong_creation<make_normal>,
       .call =
           [](const Case &c, const Inputs &) {
             return results(
                 rand_normal(c.length, c.scalars.at(0), c.scalars.at(1), c.number, c.dtype));
           },
       .bound = rand_normal_bound,
       .shape = length_shape},
      {.name = "bernoulli_mask",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases =
           [](const Generator &g) {
             random_cases(g, {{0.3}, {0.5}, {0}, {1}, {-1}, {2}, {0.999999999}, {std::nan("")}});
           },
       .wrong = wrong_creation<make_mask>,
       .call =
           [](const Case &c, const Inputs &) {
             return results(bernoulli_mask(c.length, c.scalars.at(0), c.number, c.dtype));
           },
       .shape = length_shape},
  };
}

}  // namespace torchlean::tools
