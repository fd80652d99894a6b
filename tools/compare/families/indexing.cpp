// Rows of the family indexing.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <initializer_list>

namespace torchlean::tools {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

constexpr ValueKind source_kinds[] = {{"wide", wide_values}, {"sprinkled", sprinkled_values}};
constexpr ValueKind sum_kinds[] = {{"ordinary", ordinary_values},
                                   {"cancelling", cancelling_values},
                                   {"tiny", tiny_values},
                                   {"sprinkled", sprinkled_values},
                                   {"huge", huge_values}};

using Indices = std::vector<std::uint32_t>;

// Now and then beyond the rows.
Indices random_indices(Random &random, std::uint64_t rows, std::uint64_t k) {
  Indices indices;
  for (std::uint64_t i = 0; i < k; ++i) {
    indices.push_back(random.below(16) == 0 ? nowhere
                                            : static_cast<std::uint32_t>(random.below(rows + 1)));
  }
  return indices;
}

// Every row once at most, downwards.
Indices distinct_indices(Random &, std::uint64_t rows, std::uint64_t k) {
  Indices indices;
  for (std::uint64_t i = 0; i < k; ++i) {
    indices.push_back(i < rows ? static_cast<std::uint32_t>(rows - 1 - i) : nowhere);
  }
  return indices;
}

Indices same_index(Random &, std::uint64_t rows, std::uint64_t k) {
  return Indices(k, static_cast<std::uint32_t>(rows / 2));
}

struct IndexKind {
  const char *name;
  Indices (*make)(Random &, std::uint64_t rows, std::uint64_t k);
};
constexpr IndexKind index_kinds[] = {
    {"random", random_indices}, {"distinct", distinct_indices}, {"same", same_index}};

struct Sizes {
  std::uint64_t rows;
  std::uint64_t cols;
  std::uint64_t k;
};

std::string sizes_text(const Sizes &sizes, const IndexKind &indices) {
  return fmt::format("{}x{}:k={}:{}", sizes.rows, sizes.cols, sizes.k, indices.name);
}

// Whether the generator's size has no place for it.
bool is_too_long(const Generator &generator, const Sizes &sizes) {
  return generator.size() == Size::small && (sizes.rows + sizes.k) * sizes.cols > 10000;
}

void gather_cases(const Generator &generator) {
  for (const Sizes &sizes : {Sizes{0, 3, 2},
                             {3, 0, 2},
                             {5, 3, 0},
                             {1, 1, 1},
                             {7, 1, 13},
                             {17, 31, 65},
                             {257, 3, 64},
                             {64, 65, 127},
                             {3, 2, 65537},
                             {65537, 2, 129}}) {
    if (is_too_long(generator, sizes)) continue;
    for (const ValueKind &kind : source_kinds) {
      for (const IndexKind &indices : index_kinds) {
        generator.add(kind.name, sizes_text(sizes, indices), [&](Case &one, Random &random) {
          one.inputs = {kind.make(random, one.dtype, sizes.rows * sizes.cols)};
          one.dims = {sizes.rows, sizes.cols};
          one.indices = indices.make(random, sizes.rows, sizes.k);
        });
      }
    }
  }
}

void scatter_cases(const Generator &generator, std::initializer_list<Sizes> list) {
  for (const Sizes &sizes : list) {
    if (is_too_long(generator, sizes)) continue;
    for (const ValueKind &kind : sum_kinds) {
      for (const IndexKind &indices : index_kinds) {
        generator.add(kind.name, sizes_text(sizes, indices), [&](Case &one, Random &random) {
          one.inputs = {kind.make(random, one.dtype, sizes.rows * sizes.cols),
                        kind.make(random, one.dtype, sizes.k * sizes.cols)};
          one.dims = {sizes.rows, sizes.cols};
          one.indices = indices.make(random, sizes.rows, sizes.k);
        });
      }
    }
  }
}

void scatter_element_cases(const Generator &generator) {
  scatter_cases(generator, {{0, 1, 3},
                            {1, 1, 0},
                            {1, 1, 1},
                            {1, 1, 7},
                            {5, 1, 3},
                            {64, 1, 65},
                            {257, 1, 31},
                            {7, 1, 1025},
                            {4099, 1, 129},
                            {65537, 1, 257}});
}

void scatter_row_cases(const Generator &generator) {
  scatter_cases(generator, {{0, 3, 2},
                            {3, 0, 2},
                            {5, 3, 0},
                            {1, 1, 1},
                            {1, 5, 2},
                            {17, 31, 65},
                            {257, 3, 64},
                            {64, 65, 63},
                            {3, 7, 1025},
                            {65537, 2, 129}});
}

void right_gather(Case &one, Random &random) {
  one.inputs = {ordinary_values(random, one.dtype, 15)};
  one.dims = {5, 3};
  one.indices = {4, 0, 9};
}

void right_scatter(Case &one, Random &random) {
  one.inputs = {ordinary_values(random, one.dtype, 15), ordinary_values(random, one.dtype, 9)};
  one.dims = {5, 3};
  one.indices = {4, 0, 9};
}

void right_element_scatter(Case &one, Random &random) {
  one.inputs = {ordinary_values(random, one.dtype, 5), ordinary_values(random, one.dtype, 3)};
  one.dims = {5, 1};
  one.indices = {4, 0, 9};
}

Buffer gather(const Case &c, const Inputs &in, const std::uint32_t *indices, std::uint64_t k) {
  tl_buffer *out = nullptr;
  check(tl_gather_rows(in.at(0).get(), c.dims.at(0), c.dims.at(1), indices, c.indices.size(), k,
                       &out));
  return Buffer(out);
}

Buffer scatter(const Case &c, const Inputs &in, const std::uint32_t *indices, std::uint64_t k) {
  tl_buffer *out = nullptr;
  check(tl_scatter_add_rows(in.at(0).get(), in.at(1).get(), c.dims.at(0), c.dims.at(1), indices,
                            c.indices.size(), k, &out));
  return Buffer(out);
}

Buffer scatter_elements(const Case &c, const Inputs &in, const std::uint32_t *indices,
                        std::uint64_t k) {
  tl_buffer *out = nullptr;
  check(tl_scatter_add(in.at(0).get(), in.at(1).get(), c.dims.at(0), indices, c.indices.size(), k,
                       &out));
  return Buffer(out);
}

using Call = Buffer (*)(const Case &, const Inputs &, const std::uint32_t *, std::uint64_t);

template <Call call>
Results run(const Case &c, const Inputs &in) {
  return results(call(c, in, c.indices.data(), c.indices.size()));
}

template <Call call, auto right>
void wrong_indices(const Generator &generator) {
  wrong_operands(generator, right);
  generator.refuse("k-of-another-number", [](Case &one, Random &random) {
    right(one, random);
    one.wrong_call = [](const Case &c, const Inputs &in) {
      call(c, in, c.indices.data(), c.indices.size() + 1);
    };
  });
  generator.refuse("indices-null", [](Case &one, Random &random) {
    right(one, random);
    one.wrong_call = [](const Case &c, const Inputs &in) {
      call(c, in, nullptr, c.indices.size());
    };
  });
  generator.refuse("overflowing-dims", [](Case &one, Random &random) {
    right(one, random);
    one.dims = {too_many, too_many};
  });
}

void wrong_gather(const Generator &generator) {
  wrong_indices<gather, right_gather>(generator);
  generator.refuse("too-large-result", [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 65536)};
    one.dims = {1, 65536};
    one.indices.resize(65537);
  });
}

Terms gather_source(const Case &one, const Place &place) {
  const std::uint64_t cols = one.dims[1];
  const std::uint64_t row = one.indices[place.index / cols];
  if (row >= one.dims[0]) return {};
  return {{0, row * cols + place.index % cols}};
}

Terms scatter_terms(const Case &one, const Place &place) {
  const std::uint64_t cols = one.inputs[0].size() / one.dims[0];
  Terms terms = {{0, place.index}};
  for (std::uint64_t i = 0; i < one.indices.size(); ++i) {
    if (one.indices[i] == place.index / cols) {
      terms.emplace_back(1, i * cols + place.index % cols);
    }
  }
  return terms;
}

constexpr const char *scatter_budget =
    "the same bits where a row is hit once at most, else 2 r eps (|base| + sum|v|) with r hits";

}  // namespace

std::vector<Operation> indexing_operations() {
  return {
      {.name = "gather_rows",
       .rule = Rule::bits,
       .budget = "the same bits",
       .cases = gather_cases,
       .wrong = wrong_gather,
       .call = run<gather>,
       .terms = gather_source,
       .shape = gather_shape},
      {.name = "scatter_add",
       .rule = Rule::bounded,
       .budget = scatter_budget,
       .cases = scatter_element_cases,
       .wrong = wrong_indices<scatter_elements, right_element_scatter>,
       .call = run<scatter_elements>,
       .standard = scatter_add_standard,
       .terms = scatter_terms,
       .shape = scatter_shape,
       .is_reproducible = true},
      {.name = "scatter_add_rows",
       .rule = Rule::bounded,
       .budget = scatter_budget,
       .cases = scatter_row_cases,
       .wrong = wrong_indices<scatter, right_scatter>,
       .call = run<scatter>,
       .standard = scatter_add_standard,
       .terms = scatter_terms,
       .shape = scatter_shape,
       .is_reproducible = true},
  };
}

}  // namespace torchlean::tools
