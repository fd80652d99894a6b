// Arrays of more than 2^31 elements: softmax, layer norm, a loss and scans at their last rows.
//
// What is folded from all blocks' results (dGamma, dBeta, the mean of a loss) is not to be had from
// the last blocks alone.
#include "tail.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

// One score of each row is far above the others.
double score(uint64_t i) { return i % row_length == i / row_length % 3 ? 1000 : 0; }
double softmax_of_score(uint64_t i) { return score(i) / 1000; }

}  // namespace

TEST_CASE("softmax: the last rows and columns of 2^31 and more elements") {
  const Session session("1", "3");
  const tl_normalization_table &table = *backend().normalization;
  const Buffer x = with_tail<float>(session, many_rows * row_length, score);
  tl_storage *out = nullptr;
  REQUIRE(table.softmax(session.instance(), x.operand(), many_rows, row_length, 1, 0, &out) ==
          TL_OK);
  check_tail<float>(session, out, many_rows * row_length, tail, many_rows_covered * row_length,
                    softmax_of_score);
  const Buffer all_allowed =
      with_tail<float>(session, many_rows * row_length, [](uint64_t) { return 1; });
  REQUIRE(table.masked_softmax(session.instance(), x.operand(), all_allowed.operand(), many_rows,
                               row_length, 0, &out) == TL_OK);
  check_tail<float>(session, out, many_rows * row_length, tail, many_rows_covered * row_length,
                    softmax_of_score);
  // As (cols, rows), of which only the last row is not 0.
  REQUIRE(table.softmax(session.instance(), x.operand(), 1, row_length, many_rows, 0, &out) ==
          TL_OK);
  check_tail<float>(
      session, out, many_rows * row_length, many_rows_covered, many_rows_covered,
      [](uint64_t i) { return score(i) == 0 ? 1 / static_cast<double>(row_length) : 1.0; });
}

TEST_CASE("layer norm: the last rows of 2^31 and more elements") {
  const Session session("1", "3");
  const tl_normalization_table &table = *backend().normalization;
  constexpr uint64_t pairs = many_rows * 2;  // rows of two columns
  // -d and d, whose mean is 0 and whose deviation is |d|.
  const auto deviation = [](uint64_t row) { return row % 3 == 0 ? -2.0 : 4.0; };
  const auto normalized_of = [&](uint64_t i) {
    return (i % 2 == 0 ? -1 : 1) * (deviation(i / 2) < 0 ? -1 : 1);
  };
  const Buffer x = with_tail<float>(
      session, pairs * 2, [&](uint64_t i) { return (i % 2 == 0 ? -1 : 1) * deviation(i / 2); });
  const Buffer gamma(session, std::vector<float>{2, 3});
  const Buffer beta(session, std::vector<float>{1, 5});
  constexpr uint64_t written = covered_of(pairs);
  tl_storage *out[3] = {};
  REQUIRE(table.layer_norm(session.instance(), x.operand(), gamma.operand(), beta.operand(), pairs,
                           2, 0.0, 0, out) == TL_OK);
  check_tail<float>(session, out[0], pairs * 2, tail, written * 2, [&](uint64_t i) {
    return i % 2 == 0 ? normalized_of(i) * 2 + 1 : normalized_of(i) * 3 + 5;
  });
  check_tail<float>(session, out[1], pairs * 2, tail, written * 2, normalized_of);
  check_tail<float>(session, out[2], pairs, tail / 2, written,
                    [&](uint64_t row) { return 1 / std::fabs(deviation(row)); });

  // dX = ((dh colsScale - sum dh) - normalized sum(dh normalized)) invStd invCols
  const Buffer d_out = with_tail<float>(session, pairs * 2, numbered);
  const Buffer normalized = with_tail<float>(session, pairs * 2, normalized_of);
  const Buffer inv_std = with_tail<float>(session, pairs, [](uint64_t) { return 0.5; });
  const tl_layer_norm_bwd_params params = {sizeof params, pairs, 2, 2, 0.5};
  REQUIRE(table.layer_norm_bwd(session.instance(), d_out.operand(), normalized.operand(),
                               inv_std.operand(), gamma.operand(), &params, 0, out) == TL_OK);
  const Buffer d_gamma(session, out[1], 2, TL_FLOAT32, sizeof(float));
  const Buffer d_beta(session, out[2], 2, TL_FLOAT32, sizeof(float));
  const auto dh = [](uint64_t i) { return numbered(i) * (i % 2 == 0 ? 2 : 3); };
  check_tail<float>(session, out[0], pairs * 2, tail, written * 2, [&](uint64_t i) {
    const uint64_t first = i / 2 * 2;
    const double sum = dh(first) + dh(first + 1);
    const double product =
        dh(first) * normalized_of(first) + dh(first + 1) * normalized_of(first + 1);
    return ((dh(i) * 2 - sum) - normalized_of(i) * product) / 4;
  });
}

TEST_CASE("distillation: the last rows of 2^31 and more elements") {
  const Session session("1", "3");
  const Buffer x = with_tail<float>(session, many_rows * row_length, score);
  tl_storage *out = nullptr;
  const Buffer teacher = with_tail<float>(session, many_rows * row_length,
                                          [](uint64_t i) { return score(i) == 0 ? 1000 : 0; });
  REQUIRE(backend().loss->loss(session.instance(), TL_LOSS_DISTILLATION_GRADIENT, x.operand(),
                               teacher.operand(), many_rows, row_length, 0, &out) == TL_OK);
  constexpr uint64_t covered = covered_of(many_rows * row_length);
  check_tail<float>(session, out, many_rows * row_length, covered, covered, [](uint64_t i) {
    if (i < many_rows * row_length - tail) return 0.0F;  // no scores in either
    const float difference = score(i) == 0 ? -0.25F : 1.0F;
    return difference / static_cast<float>(many_rows);
  });
}

TEST_CASE("scans: the last states of 2^31 and more elements") {
  const Session session("1", "3");
  constexpr uint64_t time = 5;
  constexpr uint64_t states = many_rows;
  const Buffer a = with_tail<float>(session, states, [](uint64_t) { return 0.5; });
  const Buffer b = with_tail<float>(session, states, [](uint64_t j) { return numbered(j); });
  const Buffer h0 = with_tail<float>(session, states, [](uint64_t j) { return 32 * numbered(j); });
  const Buffer x = with_tail<float>(session, time * states, [](uint64_t) { return 1; });
  // x is 0 until its last step: h = 32 n, 16 n, ... n, then n more
  tl_storage *out = nullptr;
  REQUIRE(backend().scan->forward(session.instance(), TL_SCAN_CONSTANT, a.operand(), b.operand(),
                                  x.operand(), h0.operand(), time, states, 0, &out) == TL_OK);
  check_tail<float>(session, out, time * states, many_rows_covered, many_rows_covered,
                    [](uint64_t i) { return 2 * numbered(i % states); });

  tl_storage *gradients[4] = {};
  REQUIRE(backend().scan->backward(session.instance(), TL_SCAN_CONSTANT, a.operand(), b.operand(),
                                   x.operand(), h0.operand(), x.operand(), x.operand(), time,
                                   states, 0, gradients) == TL_OK);
  // g is 1 at the last step, halved at each before it; the h before the last step is 0.
  check_tail<float>(session, gradients[0], states, many_rows_covered, many_rows_covered,
                    [](uint64_t j) { return 32 * numbered(j) / 16; });
  check_tail<float>(session, gradients[1], states, many_rows_covered, many_rows_covered,
                    [](uint64_t) { return 1; });
  check_tail<float>(session, gradients[2], time * states, many_rows_covered, many_rows_covered,
                    [](uint64_t i) { return numbered(i % states); });
  check_tail<float>(session, gradients[3], states, many_rows_covered, many_rows_covered,
                    [](uint64_t) { return 1 / 32.0; });
}
