// Arrays of more than 2^31 elements and more than 2^32 bytes: elements, sums and views.
#include "tail.hpp"

#include <doctest/doctest.h>

#include <vector>

TEST_CASE_TEMPLATE("elementwise: the last of 2^31 and more elements", T, float, double) {
  const Session session("1", "3");
  const auto opposite = [](uint64_t i) { return -2 * numbered(i); };
  const Buffer x = with_tail<T>(session, many, numbered, most_covered_in_words);
  const Buffer y = with_tail<T>(session, many, opposite, most_covered_in_words);
  constexpr uint64_t covered = covered_in_words(many, 16 / sizeof(T));
  tl_storage *out = nullptr;
  REQUIRE(backend().elementwise->binary(session.instance(), TL_BINARY_ADD, x.operand(), y.operand(),
                                        &no_scalars, 0, &out) == TL_OK);
  check_tail<T>(session, out, many, covered, covered, [](uint64_t i) { return -numbered(i); });
  REQUIRE(backend().elementwise->unary(session.instance(), TL_UNARY_ABS, y.operand(), &no_scalars,
                                       0, &out) == TL_OK);
  check_tail<T>(session, out, many, covered, covered, [](uint64_t i) { return 2 * numbered(i); });
  REQUIRE(backend().memory->fill(session.instance(), dtype_of<T>, sizeof(T), many, 2.5, 0, &out) ==
          TL_OK);
  check_tail<T>(session, out, many, covered, covered, [](uint64_t) { return 2.5; });
}

TEST_CASE("transfer: the last of 2^31 and more words are converted") {
  const Session session("1", "3");
  constexpr uint64_t covered = covered_in_words(many, 2);
  Sparse<double> words(many);
  for (uint64_t i = many - most_covered_in_words; i < many; ++i) {
    words[i] = numbered(i);
  }
  tl_storage *out = nullptr;
  REQUIRE(backend().transfer->upload(session.instance(), words.data(), TL_FLOAT64, TL_FLOAT32, 4,
                                     many, 0, &out) == TL_OK);
  check_tail<float>(session, out, many, covered, covered, numbered);
}

TEST_CASE("view: parts of 2^31 and more elements are joined and cut at the right places") {
  const Session session("1", "3");
  const Buffer x = with_tail<float>(session, many, numbered);
  const Buffer few(session, std::vector<float>{-1, -2, -3});
  tl_storage *out = nullptr;
  REQUIRE(backend().view->concat(session.instance(), x.operand(), few.operand(), 0, &out) == TL_OK);
  check_tail<float>(session, out, many + 3, tail, tail + 3, [](uint64_t i) {
    return i < many ? numbered(i) : -1 - static_cast<double>(i - many);
  });
  REQUIRE(backend().view->slice(session.instance(), x.operand(), 17, many - 20, 0, &out) == TL_OK);
  check_tail<float>(session, out, many - 20, tail - 3, tail - 3,
                    [](uint64_t i) { return numbered(i + 17); });
}

namespace {

double row_value(uint64_t row, uint64_t k) {
  return static_cast<double>((row % 1009 + 1) * (k * k % 7 + 1));
}

Buffer last_rows(const Session &session) {
  Sparse<float> words(many_rows * row_length);
  for (uint64_t row = many_rows - 2 * many_rows_covered; row < many_rows; ++row) {
    for (uint64_t k = 0; k < row_length; ++k) {
      words[row * row_length + k] = static_cast<float>(row_value(row, k));
    }
  }
  tl_storage *out = nullptr;
  REQUIRE(backend().transfer->upload(session.instance(), words.data(), TL_FLOAT32, TL_FLOAT32, 4,
                                     many_rows * row_length, 0, &out) == TL_OK);
  return {session, out, many_rows * row_length, TL_FLOAT32, 4};
}

}  // namespace

TEST_CASE("reduction: the last rows and columns of 2^31 and more elements") {
  const Session session("1", "3");
  const tl_reduction_table &table = *backend().reduction;
  const Buffer x = last_rows(session);
  tl_storage *out = nullptr;
  // The values of a row are 1, 2, 5, 3 and 3 times the first.
  REQUIRE(table.reduce(session.instance(), TL_REDUCE_SUM, x.operand(), many_rows, row_length, 1, 0,
                       &out) == TL_OK);
  check_tail<float>(session, out, many_rows, many_rows_covered, many_rows_covered,
                    [](uint64_t row) { return 14 * row_value(row, 0); });
  REQUIRE(table.reduce(session.instance(), TL_REDUCE_MAX, x.operand(), many_rows, row_length, 1, 0,
                       &out) == TL_OK);
  check_tail<float>(session, out, many_rows, many_rows_covered, many_rows_covered,
                    [](uint64_t row) { return 5 * row_value(row, 0); });
  // As (5, rows): each column's terms lie 2^29 elements apart, and only the last row is not 0.
  REQUIRE(table.reduce(session.instance(), TL_REDUCE_SUM, x.operand(), 1, row_length, many_rows, 0,
                       &out) == TL_OK);
  check_tail<float>(session, out, many_rows, many_rows_covered, many_rows_covered,
                    [](uint64_t column) {
                      const uint64_t i = (row_length - 1) * many_rows + column;
                      return row_value(i / row_length, i % row_length);
                    });
  REQUIRE(table.row_mask(session.instance(), TL_ROW_MASK_TOP_K, x.operand(), many_rows, row_length,
                         1, 0, &out) == TL_OK);
  constexpr uint64_t covered = covered_of(many_rows * row_length);
  check_tail<float>(session, out, many_rows * row_length, covered, covered,
                    [](uint64_t i) { return i % row_length == 2 ? 1 : 0; });
}

TEST_CASE("view: a row is broadcast to 2^31 and more elements") {
  const Session session("1", "3");
  const Buffer row(session, std::vector<float>{1, 2, 3, 4, 5});
  tl_broadcast_params params{};
  params.struct_size = sizeof params;
  params.rank = 2;
  params.dims[0] = many_rows;
  params.dims[1] = row_length;
  params.strides[1] = 1;
  tl_storage *out = nullptr;
  REQUIRE(backend().view->broadcast(session.instance(), row.operand(), &params, 0, &out) == TL_OK);
  check_tail<float>(session, out, many_rows * row_length, tail,
                    covered_in_words(many_rows * row_length, 4),
                    [](uint64_t i) { return i % row_length + 1; });
}

TEST_CASE("view: axes are swapped among 2^31 and more elements") {
  const Session session("1", "3");
  // (outer, 2, 2) word by word, (outer, 32, 32) tile by tile.
  for (const uint64_t side : {2u, 32u}) {
    const uint64_t outer = (uint64_t{1} << 31) / (side * side) + 100;
    const uint64_t count = outer * side * side;
    const Buffer x = with_tail<float>(session, count, numbered);
    tl_storage *out = nullptr;
    REQUIRE(backend().view->swap(session.instance(), x.operand(), outer, side, side, 1, 0, &out) ==
            TL_OK);
    const uint64_t checked = side == 2 ? 600 : side * side;
    check_tail<float>(session, out, count, checked, count / outer * 256, [&](uint64_t i) {
      const uint64_t in_matrix = i % (side * side);
      const uint64_t source = i - in_matrix + in_matrix % side * side + in_matrix / side;
      return source < count - tail ? 0 : numbered(source);
    });
  }
}
