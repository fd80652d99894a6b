// Rows picked and added: what ATen would refuse, or add in another order.
#include "operations.hpp"

#include <doctest/doctest.h>

namespace {

// Two strips of columns and a bit.
constexpr uint64_t wide = 600;

}  // namespace

TEST_CASE_TEMPLATE("gather_rows keeps bits, and an index that no row has gives +0, NaN or not", T,
                   float, double) {
  for (const uint64_t cols : {uint64_t{1}, uint64_t{3}, wide}) {
    const uint64_t rows = 7;
    auto source = any_patterns<T>(rows * cols, cols);
    for (uint64_t i = 0; i < cols; ++i) source[i] = std::numeric_limits<T>::quiet_NaN();
    const std::vector<uint32_t> indices = {6, 0, 7, 6, UINT32_MAX, 2};
    Values<T> expected;
    for (const uint32_t index : indices)
      for (uint64_t c = 0; c < cols; ++c)
        expected.push_back(index < rows ? source[index * cols + c] : T(0));
    CHECK(same_bits(Operations<T>::gather_rows({}, source, cols, indices), expected));
  }
}

TEST_CASE_TEMPLATE("scatter_add adds in index order from the base on, in deterministic mode", T,
                   float, double) {
  std::mt19937_64 random(5);
  for (const uint64_t cols : {uint64_t{1}, uint64_t{3}, wide}) {
    const uint64_t rows = 9, k = 40;
    const auto base = any_patterns<T>(rows * cols, 1);
    const auto values = uniform_values<T>(k * cols, 2, T(-1e30), T(1e30));
    std::vector<uint32_t> indices(k);
    for (uint32_t &index : indices) index = static_cast<uint32_t>(random() % (rows + 2));
    auto expected = base;
    for (uint64_t i = 0; i < k; ++i)
      for (uint64_t c = 0; c < cols && indices[i] < rows; ++c)
        expected[indices[i] * cols + c] += values[i * cols + c];
    const auto got = Operations<T>::scatter_add_rows({true}, base, values, cols, indices);
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i) wrong += !same(got[i], expected[i]);
    CHECK(wrong == 0);
  }
}

TEST_CASE("scatter_add leaves what it does not hit bit for bit, and rounds once where it hits") {
  const float payload = std::bit_cast<float>(0xff812345u);
  for (const bool deterministic : {false, true}) {
    const auto y = Operations<float>::scatter_add_rows({deterministic}, {-0.0f, payload, 1, -0.0f},
                                                       {-0.0f, 0x1p-24f, 7}, 1, {3, 2, 4});
    CHECK(same_bits(y, {-0.0f, payload, 1, -0.0f}));
    CHECK(Operations<float>::scatter_add_rows({deterministic}, {1, 2}, {5, 6}, 2, {1}) ==
          std::vector<float>{1, 2});
  }
}
