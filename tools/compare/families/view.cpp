// Rows of the family view.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

namespace torchlean::tools {
namespace {

constexpr tl_format bfloat16 = {8, 7, 127, TL_ENCODING_IEEE};

Array words(Random &random, tl_dtype dtype, std::uint64_t count) {
  return dtype == TL_ENCODED ? encoded_words(random, bfloat16, count)
                             : wide_values(random, dtype, count);
}

void concat_cases(const Generator &generator) {
  for (const std::uint64_t n : generator.lengths()) {
    for (const std::uint64_t m : {0, 1, 65}) {
      generator.add("wide", fmt::format("n={}:m={}", n, m), [&](Case &one, Random &random) {
        one.inputs = {words(random, one.dtype, n), words(random, one.dtype, m)};
      });
    }
  }
}

void slice_cases(const Generator &generator) {
  const auto add = [&](std::uint64_t n, std::uint64_t start, std::uint64_t length) {
    generator.add("wide", fmt::format("n={}:start={}:length={}", n, start, length),
                  [&](Case &one, Random &random) {
                    one.inputs = {words(random, one.dtype, n)};
                    one.number = start;
                    one.length = length;
                  });
  };
  for (const std::uint64_t n : generator.lengths()) {
    add(n, 0, n);
    add(n, n, 0);
    if (n > 1) add(n, 1, n - 1);
    if (n > 2) add(n, n / 3, n / 2);
  }
}

void column_broadcast_cases(const Generator &generator) {
  for (const auto &dims : generator.matrices()) {
    generator.add("wide", fmt::format("{}", dims_text(dims)), [&](Case &one, Random &random) {
      one.inputs = {words(random, one.dtype, dims[0])};
      one.dims = dims;
    });
  }
}

void broadcast_cases(const Generator &generator) {
  struct Shape {
    std::vector<std::uint64_t> in;
    std::vector<std::uint64_t> out;
    std::vector<std::uint64_t> map;
  };
  static const std::vector<Shape> shapes = {{{}, {}, {}},
                                            {{}, {7}, {0}},
                                            {{3}, {3}, {1}},
                                            {{0}, {0}, {1}},
                                            {{3}, {0, 3}, {0, 1}},
                                            {{3}, {65, 3}, {0, 1}},
                                            {{3}, {3, 65}, {1, 0}},
                                            {{17, 31}, {31, 17}, {2, 1}},
                                            {{1, 3}, {4, 3}, {1, 2}},
                                            {{2, 1, 3}, {2, 5, 3}, {1, 2, 3}},
                                            {{2, 3, 4}, {5, 4, 2, 3, 6}, {0, 3, 1, 2, 0}},
                                            {{257, 1, 3}, {2, 257, 129, 3}, {0, 1, 2, 3}}};
  for (const Shape &shape : shapes) {
    generator.add("wide",
                  fmt::format("{}to{}:map={}", dims_text(shape.in), dims_text(shape.out),
                              fmt::join(shape.map, ".")),
                  [&](Case &one, Random &random) {
                    one.inputs = {words(random, one.dtype, product_of(shape.in))};
                    one.dims = shape.in;
                    one.out_dims = shape.out;
                    one.axis_map = shape.map;
                  });
  }
}

void swap_cases(const Generator &generator) {
  static const std::vector<std::vector<std::uint64_t>> shapes = {
      {1, 1}, {2, 3}, {64, 65}, {0, 5}, {2, 3, 4}, {5, 1, 7, 3}, {3, 17, 31}, {128, 129, 2}};
  for (const auto &dims : shapes) {
    for (std::uint64_t depth = 0; depth + 1 < dims.size(); ++depth) {
      generator.add("wide", fmt::format("{}:depth={}", dims_text(dims), depth),
                    [&](Case &one, Random &random) {
                      one.inputs = {words(random, one.dtype, product_of(dims))};
                      one.dims = dims;
                      one.number = depth;
                    });
    }
  }
}

void wrong_concat(const Generator &generator) {
  wrong_operands(generator,
                 [](Case &one, Random &random) {
                   one.inputs = {words(random, one.dtype, 5), words(random, one.dtype, 3)};
                 },
                 {.takes_encoded = true, .has_fixed_length = false});
  generator.refuse("other-size", [](Case &one, Random &random) {
    one.inputs = {words(random, one.dtype, 5), words(random, one.dtype, 3)};
    one.wrong_call = [](const Case &, const Inputs &in) {
      tl_buffer *out = nullptr;
      check(tl_concat1d(in.at(0).get(), in.at(1).get(), 5, 4, &out));
    };
  });
}

void wrong_slice(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {words(random, one.dtype, 7)};
    one.number = 2;
    one.length = 3;
  };
  wrong_operands(generator, right, {.takes_encoded = true, .has_fixed_length = false});
  const auto refuse = [&](const char *label, std::uint64_t start, std::uint64_t length) {
    generator.refuse(label, [&](Case &one, Random &random) {
      right(one, random);
      one.number = start;
      one.length = length;
    });
  };
  refuse("past-the-end", 5, 3);
  refuse("start-past-the-end", 8, 0);
  refuse("overflow-of-32-bits", 2, 0xFFFFFFFF);
  refuse("overflow-of-64-bits", 2, ~std::uint64_t{0});
}

void wrong_column_broadcast(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 3)};
    one.dims = {3, 5};
  };
  wrong_operands(generator, right);
  generator.refuse("too-large-result", [&](Case &one, Random &random) {
    right(one, random);
    one.dims = {3, too_many};
  });
}

void wrong_broadcast(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 3)};
    one.dims = {3};
    one.out_dims = {5, 3};
    one.axis_map = {0, 1};
  };
  wrong_operands(generator, right);
  wrong_axis_maps(generator, right);
}

void wrong_swap(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 24)};
    one.dims = {2, 3, 4};
    one.number = 1;
  };
  wrong_operands(generator, right);
  generator.refuse("depth-of-the-last-axis", [&](Case &one, Random &random) {
    right(one, random);
    one.number = 2;
  });
  generator.refuse("depth-overflow", [&](Case &one, Random &random) {
    right(one, random);
    one.number = ~std::uint64_t{0};
  });
  generator.refuse("overflowing-dims", [&](Case &one, Random &random) {
    right(one, random);
    one.dims = {too_many, too_many};
  });
}

Terms concat_source(const Case &one, const Place &place) {
  const std::uint64_t first = one.inputs[0].size();
  if (place.index < first) return {{0, place.index}};
  return {{1, place.index - first}};
}

Terms slice_source(const Case &one, const Place &place) { return {{0, one.number + place.index}}; }

Terms column_source(const Case &one, const Place &place) {
  return {{0, place.index / one.dims[1]}};
}

Terms swap_source(const Case &one, const Place &place) {
  const std::uint64_t first = one.dims[one.number];
  const std::uint64_t second = one.dims[one.number + 1];
  std::uint64_t inner = 1;
  for (std::size_t a = one.number + 2; a < one.dims.size(); ++a) inner *= one.dims[a];
  const std::uint64_t row = place.index / inner;
  const std::uint64_t outer = row / (first * second);
  const std::uint64_t i = row % first;
  const std::uint64_t j = row / first % second;
  return {{0, ((outer * first + i) * second + j) * inner + place.index % inner}};
}

}  // namespace

std::vector<Operation> view_operations() {
  return {
      {.name = "concat1d",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = concat_cases,
       .wrong = wrong_concat,
       .call = [](const Case &, const Inputs &in) { return results(concat(in.at(0), in.at(1))); },
       .terms = concat_source,
       .shape = concatenated_shape},
      {.name = "slice1d",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = slice_cases,
       .wrong = wrong_slice,
       .call = [](const Case &c,
                  const Inputs &in) { return results(slice(in.at(0), c.number, c.length)); },
       .terms = slice_source,
       .shape = slice_shape},
      {.name = "broadcast_vec_to_cols",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = column_broadcast_cases,
       .wrong = wrong_column_broadcast,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(broadcast_vec_to_cols(in.at(0), c.dims.at(0), c.dims.at(1)));
           },
       .terms = column_source,
       .shape = row_vector_shape},
      {.name = "broadcast_to",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = broadcast_cases,
       .wrong = wrong_broadcast,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(broadcast_to(in.at(0), c.dims, c.out_dims, c.axis_map));
           },
       .terms = broadcast_source,
       .shape = broadcast_shape},
      {.name = "swap_adjacent_at_depth",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = swap_cases,
       .wrong = wrong_swap,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(swap_adjacent_at_depth(in.at(0), c.dims, c.number));
           },
       .terms = swap_source,
       .shape = dims_shape},
  };
}

}  // namespace torchlean::tools
