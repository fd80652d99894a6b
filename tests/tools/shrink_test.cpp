// Failing cases get smaller, and every operation says how its shape hangs together.
#include <doctest/doctest.h>

#include <chrono>

#include "compare/case_text.hpp"
#include "compare/shrink.hpp"

using namespace torchlean::tools;

namespace {

std::vector<Case> right_cases(const Operation &row, tl_dtype dtype) {
  std::vector<Case> cases;
  row.cases(Generator({row.name, dtype, 1, Size::small, [](const Case &) { return true; },
                       [&](const Case &one) { cases.push_back(one); }}));
  return cases;
}

// Of one input.
std::uint64_t elements_of(const Extents &extents, std::size_t input) {
  std::uint64_t count = extents.words;
  for (const std::size_t axis : extents.axes[input]) count *= extents.sizes[axis];
  return count;
}

std::uint64_t indices_of(const Extents &extents) {
  return extents.indices ? extents.sizes[*extents.indices] : 0;
}

Case shrunk(const Case &one, const std::function<bool(const Case &)> &still_fails) {
  return shrink(*find_operation(one.operation), one, still_fails,
                std::chrono::steady_clock::now() + std::chrono::seconds(60));
}

}  // namespace

TEST_CASE("the extents of every case give the sizes of its inputs, smaller ones too") {
  for (const Operation &row : operation_table()) {
    for (const tl_dtype dtype : {TL_FLOAT32, TL_FLOAT64}) {
      for (const Case &one : right_cases(row, dtype)) {
        CAPTURE(one.name());
        const Extents extents = row.shape.extents(one);
        REQUIRE(extents.axes.size() == one.inputs.size());
        for (std::size_t k = 0; k < one.inputs.size(); ++k) {
          CHECK(elements_of(extents, k) == one.inputs[k].size());
        }
        CHECK(indices_of(extents) == one.indices.size());
        for (std::size_t e = 0; e < extents.sizes.size() - extents.derived; ++e) {
          if (extents.sizes[e] < 2) continue;
          const Case smaller = without(one, row.shape, e, 1, 1);
          const Extents rest = row.shape.extents(smaller);
          CHECK(rest.sizes[e] == extents.sizes[e] - 1);
          for (std::size_t k = 0; k < smaller.inputs.size(); ++k) {
            CHECK(elements_of(rest, k) == smaller.inputs[k].size());
          }
          CHECK(indices_of(rest) == smaller.indices.size());
        }
      }
    }
  }
}

TEST_CASE("one bad word in a thousand is all that is left") {
  Case one;
  one.operation = "add";
  one.inputs = {from_values(TL_FLOAT32, std::vector<double>(1025, 3)),
                from_values(TL_FLOAT32, std::vector<double>(1025, 5))};
  one.inputs[1].bits[777] = 0x7FC00000;
  const Case smallest = shrunk(one, [](const Case &candidate) {
    for (const std::uint64_t word : candidate.inputs[1].bits) {
      if (is_nan(TL_FLOAT32, word)) return true;
    }
    return false;
  });
  CHECK(smallest.name() == "add[float32, literal, in=3f800000, in=7fc00000]");
}

TEST_CASE("a matrix shrinks to the rows and columns that it needs") {
  Case one;
  one.operation = "reduce_sum_by_row";
  one.dims = {17, 31};
  one.inputs = {from_values(TL_FLOAT64, std::vector<double>(17 * 31, 2))};
  one.dtype = one.other_dtype = TL_FLOAT64;
  const Case smallest = shrunk(one, [](const Case &candidate) {
    return candidate.dims[0] >= 3 && candidate.dims[1] >= 5 &&
           candidate.inputs[0].size() == candidate.dims[0] * candidate.dims[1];
  });
  CHECK(smallest.dims == std::vector<std::uint64_t>{3, 5});
  CHECK(smallest.name() == "reduce_sum_by_row[float64, literal, in=3ff0000000000000*15, dims=3x5]");
}

TEST_CASE("cutting a transposed operand takes the right elements") {
  Case one;
  one.operation = "bmm_with_transpose";
  one.matmul = {1, 2, 3, 1, true, false};  // a is stored (n, m)
  one.inputs = {from_values(TL_FLOAT32, {1, 2, 3, 4, 5, 6}), from_values(TL_FLOAT32, {7, 8, 9})};
  const Case smaller = without(one, matmul_shape, 2, 1, 1);  // the middle of n
  CHECK(smaller.matmul.n == 2);
  CHECK(smaller.inputs[0].bits == from_values(TL_FLOAT32, {1, 2, 5, 6}).bits);
  CHECK(smaller.inputs[1].bits == from_values(TL_FLOAT32, {7, 9}).bits);
}

TEST_CASE("indices follow the rows that they name") {
  Case one;
  one.operation = "gather_rows";
  one.dims = {5, 1};
  one.inputs = {from_values(TL_FLOAT32, {0, 1, 2, 3, 4})};
  one.indices = {4, 0, 2, 9, 1};
  const Case without_rows = without(one, gather_shape, 0, 1, 2);  // rows 1 and 2
  CHECK(without_rows.inputs[0].bits == from_values(TL_FLOAT32, {0, 3, 4}).bits);
  CHECK(without_rows.indices == std::vector<std::uint32_t>{2, 0, UINT32_MAX, 9, UINT32_MAX});
  const Case without_indices = without(one, gather_shape, 2, 0, 2);
  CHECK(without_indices.inputs[0].bits == one.inputs[0].bits);
  CHECK(without_indices.indices == std::vector<std::uint32_t>{2, 9, 1});
}

TEST_CASE("a spectrum loses whole bins, and its length stays odd or even") {
  Case one;
  one.operation = "irfft1d_packed";
  one.dims = {1, 5};
  one.inputs = {from_values(TL_FLOAT32, {0, 1, 2, 3, 4, 5})};
  const Case smaller = without(one, spectrum_shape, 1, 1, 1);
  CHECK(smaller.dims == std::vector<std::uint64_t>{1, 3});
  CHECK(smaller.inputs[0].bits == from_values(TL_FLOAT32, {0, 1, 4, 5}).bits);
}

TEST_CASE("T6: every operation has calls with wrong arguments") {
  for (const Operation &row : operation_table()) {
    CAPTURE(row.name);
    std::size_t refusals = 0;
    row.wrong(Generator({row.name, TL_FLOAT64, 1, Size::small, [](const Case &) { return true; },
                         [&](const Case &one) {
                           CHECK(one.must_be_refused);
                           ++refusals;
                         }}));
    CHECK(refusals > 0);
  }
}
