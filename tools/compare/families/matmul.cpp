// Rows of the family matmul.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace torchlean::tools {
namespace {

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

Results run_scaled(const Case &c, const Inputs &in) {
  ScaledProduct product = bmm_scaled(in.at(0), in.at(1), c.matmul, c.scalars.at(0));
  return {.buffers = {std::move(product.values)}, .replay = product.replay};
}

bool same_bits(const std::vector<double> &values, const Array &array) {
  const std::vector<double> before = values_of(array);
  return values.empty() || std::memcmp(values.data(), before.data(), 8 * values.size()) == 0;
}

Results run_dgemm(const Case &c, const Inputs &) {
  const std::vector<double> a = values_of(c.inputs.at(0));
  const std::vector<double> b = values_of(c.inputs.at(1));
  const std::vector<double> product = dgemm(a, b, c.matmul.m, c.matmul.n, c.matmul.p);
  if (!same_bits(a, c.inputs[0]) || !same_bits(b, c.inputs[1])) {
    throw std::runtime_error("the call changed one of its host arrays");
  }
  return {.arrays = {from_values(TL_FLOAT64, product)}};
}

void right_product(Case &one, Random &random) {
  one.matmul = {2, 3, 4, 5};
  one.inputs = {ordinary_values(random, one.dtype, 24), ordinary_values(random, one.dtype, 40)};
  one.scalars = {0.5};
}

void wrong_dims(const Generator &generator) {
  generator.refuse("overflowing-dims", [](Case &one, Random &random) {
    right_product(one, random);
    one.matmul = {too_many, too_many, 4, 5};
  });
  generator.refuse("too-large-result", [](Case &one, Random &) {
    one.inputs = {Array{one.dtype, {}, {}}, Array{one.dtype, {}, {}}};
    one.matmul = {1, 65536, 0, 65536};
    one.scalars = {0.5};
  });
}

void wrong_bmm(const Generator &generator) {
  wrong_operands(generator, right_product);
  wrong_dims(generator);
  generator.refuse("flag-of-2", [](Case &one, Random &random) {
    right_product(one, random);
    one.wrong_call = [](const Case &c, const Inputs &in) {
      tl_buffer *out = nullptr;
      check(tl_bmm_with_transpose(in.at(0).get(), in.at(1).get(), c.matmul.batch, c.matmul.m,
                                  c.matmul.n, c.matmul.p, 2, 0, &out));
    };
  });
}

void wrong_scaled(const Generator &generator) {
  wrong_operands(generator, right_product);
  wrong_dims(generator);
  generator.refuse("flag-of-2", [](Case &one, Random &random) {
    right_product(one, random);
    one.wrong_call = [](const Case &c, const Inputs &in) {
      tl_buffer *out = nullptr;
      std::uint32_t replay = 0;
      check(tl_bmm_scaled(in.at(0).get(), in.at(1).get(), c.matmul.batch, c.matmul.m, c.matmul.n,
                          c.matmul.p, 0, 2, 0.5, &out, &replay));
    };
  });
}

void wrong_dgemm(const Generator &generator) {
  if (generator.dtype() != TL_FLOAT64) return;
  for (const std::size_t k : {0, 1}) {
    generator.refuse(fmt::format("array-{}-longer", k), [&](Case &one, Random &random) {
      one.matmul = {1, 3, 4, 5};
      one.inputs = {ordinary_values(random, one.dtype, 12), ordinary_values(random, one.dtype, 20)};
      one.inputs[k].bits.push_back(0);
    });
  }
}

}  // namespace

std::vector<Operation> matmul_operations() {
  return {
      {.name = "bmm_with_transpose",
       .rule = Rule::bounded,
       .budget = "2 n eps sum|a||b| + n smallest subnormals",
       .cases = bmm_cases,
       .wrong = wrong_bmm,
       .call = [](const Case &c,
                  const Inputs &in) { return results(bmm(in.at(0), in.at(1), c.matmul)); },
       .bound = matmul_bound,
       .terms = matmul_terms,
       .shape = matmul_shape},
      {.name = "bmm_scaled",
       .rule = Rule::bounded,
       .budget = "(2 n + 2) eps |s| sum|a||b|, of each backend",
       .cases = scaled_cases,
       .wrong = wrong_scaled,
       .call = run_scaled,
       .bound = scaled_matmul_bound,
       .terms = matmul_terms,
       .shape = matmul_shape,
       .must_replay = must_replay},
      {.name = "dgemm",
       .rule = Rule::bounded,
       .budget = "2 n eps sum|a||b| + n smallest subnormals",
       .cases = dgemm_cases,
       .wrong = wrong_dgemm,
       .call = run_dgemm,
       .bound = matmul_bound,
       .terms = matmul_terms,
       .shape = matmul_shape},
  };
}

}  // namespace torchlean::tools
