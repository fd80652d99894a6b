// Rows of the family matmul.
#include "compare/operations.hpp"

#include <fmt/format.h>

#include <limits>

namespace torchlean::tools {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Make = Array (*)(Random &, tl_dtype, std::uint64_t);

// What fills the two operands.
struct Kind {
  const char *name;
  Make make_a;
  Make make_b;
};
constexpr Kind kinds[] = {{"ordinary", ordinary_values, ordinary_values},
                          {"cancelling", cancelling_values, ordinary_values},
                          {"tiny", tiny_values, ordinary_values},
                          {"sprinkled", sprinkled_values, sprinkled_values}};

std::vector<MatmulShape> shapes(bool is_batched) {
  std::vector<MatmulShape> list = {{1, 1, 1, 1},    {1, 0, 3, 2},    {1, 3, 0, 2},
                                   {1, 2, 3, 0},    {1, 1, 257, 1},  {1, 7, 1, 5},
                                   {1, 17, 31, 13}, {1, 64, 65, 63}, {1, 2, 1025, 3}};
  if (is_batched) {
    list.push_back({0, 2, 3, 4});
    list.push_back({5, 2, 3, 4});
    list.push_back({129, 3, 2, 1});
  }
  return list;
}

void add(const Generator &generator, const Kind &kind, const MatmulShape &shape,
         const std::vector<double> &scalars) {
  const std::string stored =
      fmt::format("{}{}", shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N');
  generator.add(kind.name,
                fmt::format("{}x{}x{}x{}:{}{}", shape.batch, shape.m, shape.n, shape.p, stored,
                            scalars.empty() ? "" : fmt::format(":{}", scalars[0])),
                [&](Case &one, Random &random) {
                  one.inputs = {kind.make_a(random, one.dtype, shape.batch * shape.m * shape.n),
                                kind.make_b(random, one.dtype, shape.batch * shape.n * shape.p)};
                  one.matmul = shape;
                  one.scalars = scalars;
                });
}

// Every shape with every way of storing the operands.
void stored_cases(const Generator &generator, const std::vector<double> &scalars) {
  for (const Kind &kind : kinds) {
    for (MatmulShape shape : shapes(true)) {
      for (const bool transpose_a : {false, true}) {
        for (const bool transpose_b : {false, true}) {
          shape.transpose_a = transpose_a;
          shape.transpose_b = transpose_b;
          add(generator, kind, shape, scalars);
        }
      }
    }
  }
}

void bmm_cases(const Generator &generator) { stored_cases(generator, {}); }

void scaled_cases(const Generator &generator) {
  stored_cases(generator, {0.125});
  for (const double scale : {-0.3, 1.0, -7.0, 1e-60, infinity}) {
    for (const Kind &kind : kinds) add(generator, kind, {2, 17, 31, 13}, {scale});
  }
}

void dgemm_cases(const Generator &generator) {
  if (generator.dtype() != TL_FLOAT64) return;
  for (const Kind &kind : kinds) {
    for (const MatmulShape &shape : shapes(false)) add(generator, kind, shape, {});
  }
}

std::vector<double> values_of(const Array &array) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < array.size(); ++i) values.push_back(array.value(i));
  return values;
}

Outcome run_scaled(const Case &c) {
  const ScaledProduct product = bmm_scaled(input(c, 0), input(c, 1), c.matmul, c.scalars[0]);
  return {{from_backend(product.values)}, product.replay};
}

Outcome run_dgemm(const Case &c) {
  return {{from_values(TL_FLOAT64, dgemm(values_of(c.inputs[0]), values_of(c.inputs[1]), c.matmul.m,
                                         c.matmul.n, c.matmul.p))},
          false};
}

}  // namespace

std::vector<Operation> matmul_operations() {
  return {
      {.name = "bmm_with_transpose",
       .rule = Rule::bounded,
       .budget = "2 n eps sum|a||b| + n smallest subnormals",
       .cases = bmm_cases,
       .run = [](const Case &c) { return outcome(bmm(input(c, 0), input(c, 1), c.matmul)); },
       .bound = matmul_bound,
       .terms = matmul_terms},
      {.name = "bmm_scaled",
       .rule = Rule::bounded,
       .budget = "(2 n + 2) eps |s| sum|a||b|, of each backend",
       .cases = scaled_cases,
       .run = run_scaled,
       .bound = scaled_matmul_bound,
       .terms = matmul_terms,
       .must_replay = must_replay},
      {.name = "dgemm",
       .rule = Rule::bounded,
       .budget = "2 n eps sum|a||b| + n smallest subnormals",
       .cases = dgemm_cases,
       .run = run_dgemm,
       .bound = matmul_bound,
       .terms = matmul_terms},
  };
}

}  // namespace torchlean::tools
