// What the conformance table cannot see of reductions: rows so long that they are cut or selected
// digit by digit, and every rank among ties.
#include "fake_host.hpp"
#include "support/oracle.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

using torchlean::test::infinity, torchlean::test::quiet_nan;

const tl_reduction_table &table() { return *backend().reduction; }

template <class T>
std::vector<T> mask_of(const Session &session, tl_row_mask_op op, const std::vector<T> &x,
                       uint64_t rows, uint64_t k = 0) {
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  REQUIRE(table().row_mask(session.instance(), op, operand.operand(), rows, x.size() / rows, k, 0,
                           &out) == TL_OK);
  return Buffer(session, out, x.size(), dtype_of<T>, sizeof(T)).template values<T>();
}

// Section 4: 1 for an entry that fewer than k entries of its row beat.
template <class T>
std::vector<T> top(const std::vector<T> &row, uint64_t k) {
  std::vector<T> mask;
  for (size_t i = 0; i < row.size(); ++i) {
    uint64_t beaten_by = 0;
    for (size_t j = 0; j < row.size(); ++j) {
      beaten_by += row[j] > row[i] || (!(row[i] > row[j]) && j < i) ? 1 : 0;
    }
    mask.push_back(beaten_by < k ? T(1) : T(0));
  }
  return mask;
}

// Values of every size and sign, several times each where `kinds` are few.
template <class T>
std::vector<T> values(size_t count, uint64_t kinds) {
  std::vector<T> x;
  uint64_t state = 9;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto kind = static_cast<int>((state >> 33) % kinds);
    x.push_back((kind % 2 == 0 ? T(1) : T(-1)) *
                std::ldexp(T(1) + T(kind % 7) / 8, kind % 41 - 20));
  }
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("top_k of long rows: any k, with and without ties", T, float, double) {
  const Session session("4");
  constexpr size_t cols = 777;
  std::vector<T> zeros(cols, T(0));
  std::vector<T> special = values<T>(cols, 50);
  for (size_t i = 0; i < cols; ++i) {
    zeros[i] = i % 3 == 0 ? T(-0.0) : i % 50 == 1 ? T(1) : T(0);
    special[i] = i % 20 == 0 ? infinity<T> : i % 20 == 7 ? -infinity<T> : special[i];
  }
  for (const std::vector<T> &row : {values<T>(cols, 1u << 20), values<T>(cols, 5),
                                    std::vector<T>(cols, T(-2)), zeros, special}) {
    for (const uint64_t k : {1u, 32u, 255u, 400u, 776u}) {
      CAPTURE(k);
      CHECK(mask_of(session, TL_ROW_MASK_TOP_K, row, 1, k) == top(row, k));
    }
  }
}

TEST_CASE_TEMPLATE("top_k of long rows with NaN counts pair by pair", T, float, double) {
  const Session session("4");
  constexpr size_t cols = 300;
  // The row with NaN lies between rows without.
  std::vector<T> x = values<T>(3 * cols, 30);
  for (const size_t i : {0, 5, 6, 150, 299}) {
    x[cols + i] = i % 2 == 0 ? quiet_nan<T> : -quiet_nan<T>;
  }
  for (const uint64_t k : {1u, 6u, 100u, 299u}) {
    std::vector<T> expected;
    for (size_t row = 0; row < 3; ++row) {
      const auto from = x.begin() + static_cast<std::ptrdiff_t>(row * cols);
      for (const T entry : top(std::vector<T>(from, from + cols), k)) {
        expected.push_back(entry);
      }
    }
    CHECK(mask_of(session, TL_ROW_MASK_TOP_K, x, 3, k) == expected);
  }
}

TEST_CASE_TEMPLATE("the first maximum of a row that is cut into chunks", T, float, double) {
  const Session session("4");
  constexpr size_t cols = 20011;  // several chunks of 2048 and more
  const auto check = [&](const std::vector<T> &row, size_t first) {
    std::vector<T> expected(cols, T(0));
    if (first < cols) {
      expected[first] = 1;
    }
    CHECK(mask_of(session, TL_ROW_MASK_FIRST_MAX, row, 1) == expected);
  };
  std::vector<T> row(cols, T(-1));
  row[15000] = row[19000] = row[20010] = 3;
  check(row, 15000);
  row[3] = row[7] = quiet_nan<T>;
  check(row, 15000);
  row[0] = infinity<T>;
  check(row, 0);
  check(std::vector<T>(cols, quiet_nan<T>), cols);
  std::vector<T> lowest(cols, -infinity<T>);
  check(lowest, 0);
  lowest[0] = lowest[1] = quiet_nan<T>;
  check(lowest, 2);
}

TEST_CASE("a sum over chunks of chunks is exact where every partial sum is") {
  const Session session("4");
  // Few columns of many rows: more chunks than are folded at once.
  for (const uint64_t inner : {1u, 3u, 40u}) {
    const uint64_t n = 600000 / inner;
    std::vector<float> x;
    for (uint64_t i = 0; i < n * inner; ++i) {
      x.push_back(static_cast<float>(i % inner + 1) * (i / inner % 2 == 0 ? 0.5f : 1.0f));
    }
    const Buffer operand(session, x);
    tl_storage *out = nullptr;
    REQUIRE(table().reduce(session.instance(), TL_REDUCE_SUM, operand.operand(), 1, n, inner, 0,
                           &out) == TL_OK);
    const Buffer sums(session, out, inner, TL_FLOAT32, 4);
    std::vector<float> expected;
    for (uint64_t i = 0; i < inner; ++i) {
      expected.push_back(static_cast<float>(0.75 * static_cast<double>((i + 1) * n)));
    }
    CHECK(sums.values<float>() == expected);
  }
}

TEST_CASE("sum_to_shape refuses strides that leave results out") {
  const Session session;
  const Buffer x(session, std::vector<float>(6, 1));
  tl_broadcast_params params{};
  params.struct_size = sizeof params;
  params.rank = 2;
  params.dims[0] = 2;
  params.dims[1] = 3;
  tl_storage *const untouched = reinterpret_cast<tl_storage *>(16);
  tl_storage *out = untouched;
  const auto status = [&](uint64_t first, uint64_t second, uint64_t count) {
    params.strides[0] = first;
    params.strides[1] = second;
    return table().sum_to_shape(session.instance(), x.operand(), &params, count, 0, &out);
  };
  CHECK(status(0, 2, 5) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "reduce_from_broadcast: params.strides hold 2, expected 1");
  CHECK(status(1, 0, 3) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "reduce_from_broadcast: out_count is 3, expected 2");
  CHECK(table().reduce(session.instance(), TL_REDUCE_TOTAL_SUM, x.operand(), 2, 3, 1, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(table().reduce(session.instance(), TL_REDUCE_OP_COUNT, x.operand(), 1, 6, 1, 0, &out) ==
        TL_UNSUPPORTED);
  CHECK(table().row_mask(session.instance(), TL_ROW_MASK_OP_COUNT, x.operand(), 1, 6, 1, 0, &out) ==
        TL_UNSUPPORTED);
  CHECK(out == untouched);
}
