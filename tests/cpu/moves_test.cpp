// Transpositions, broadcasts and gathered rows against plain loops: at the edges of blocks, and
// where results are written past the caches.
#include "every_target.hpp"

#include <algorithm>
#include <numeric>

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> counted(uint64_t count) {
  std::vector<T> x(count);
  std::iota(x.begin(), x.end(), T(1));
  return x;
}

template <class T>
std::vector<T> swap(Backend &backend, const std::vector<T> &x, uint64_t outer, uint64_t first,
                    uint64_t second, uint64_t inner) {
  const Buffer<T> operand(backend, x);
  return result<T>(backend, x.size(), [&](tl_storage **out) {
    return backend.table->view->swap(backend.instance, operand.operand(), outer, first, second,
                                     inner, 0, out);
  });
}

template <class T>
std::vector<T> swapped(const std::vector<T> &x, uint64_t outer, uint64_t first, uint64_t second,
                       uint64_t inner) {
  std::vector<T> y;
  y.reserve(x.size());
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t s = 0; s < second; ++s)
      for (uint64_t f = 0; f < first; ++f)
        for (uint64_t i = 0; i < inner; ++i)
          y.push_back(x[((o * first + f) * second + s) * inner + i]);
  return y;
}

template <class T>
std::vector<T> broadcast(Backend &backend, const std::vector<T> &x, uint64_t rows, uint64_t cols,
                         uint64_t row_stride, uint64_t col_stride) {
  tl_broadcast_params params = {sizeof params, 2, 0, {rows, cols}, {row_stride, col_stride}};
  const Buffer<T> operand(backend, x);
  return result<T>(backend, rows * cols, [&](tl_storage **out) {
    return backend.table->view->broadcast(backend.instance, operand.operand(), &params, 0, out);
  });
}

template <class T>
std::vector<T> gather(Backend &backend, const std::vector<T> &x, uint64_t cols,
                      const std::vector<uint32_t> &indices) {
  const Buffer<T> operand(backend, x);
  return result<T>(backend, indices.size() * cols, [&](tl_storage **out) {
    return backend.table->indexing->gather_rows(backend.instance, operand.operand(),
                                                x.size() / cols, cols, indices.data(),
                                                indices.size(), 0, out);
  });
}

}  // namespace

TEST_CASE_TEMPLATE("transpositions are right at the edges of tiles", T, float, double) {
  for (const auto &backend : every_target())
    for (const uint64_t first : {1U, 3U, 8U, 15U, 16U, 17U, 67U})
      for (const uint64_t second : {1U, 2U, 7U, 16U, 31U, 64U, 65U, 259U})
        for (const uint64_t inner : {1U, 2U, 3U}) {
          const std::vector<T> x = counted<T>(2 * first * second * inner);
          CAPTURE(first);
          CAPTURE(second);
          CAPTURE(inner);
          CHECK(swap(*backend, x, 2, first, second, inner) == swapped(x, 2, first, second, inner));
        }
}

TEST_CASE_TEMPLATE("runs that a transposition keeps together are spread from large sources", T,
                   float, double) {
  for (const auto &backend : every_target())
    for (const uint64_t inner : {64U, 131U}) {
      CAPTURE(inner);
      const std::vector<T> x = counted<T>(3 * 301 * 5 * inner);
      CHECK(swap(*backend, x, 3, 301, 5, inner) == swapped(x, 3, 301, 5, inner));
    }
}

TEST_CASE_TEMPLATE("short rows are repeated and filled to their ends", T, float, double) {
  for (const auto &backend : every_target())
    for (uint64_t cols = 1; cols <= 20; ++cols)
      for (const uint64_t rows : {1U, 5U, 40U}) {
        CAPTURE(cols);
        CAPTURE(rows);
        std::vector<T> repeated, filled;
        for (uint64_t i = 0; i < rows * cols; ++i) {
          const uint64_t row = i / cols;
          repeated.push_back(static_cast<T>(i % cols + 1));
          filled.push_back(static_cast<T>(row + 1));
        }
        CHECK(broadcast(*backend, counted<T>(cols), rows, cols, 0, 1) == repeated);
        CHECK(broadcast(*backend, counted<T>(rows), rows, cols, 1, 0) == filled);
      }
}

// 17 MiB, more than a result may take of a last-level cache of 32 MiB.
TEST_CASE("results that go past the caches are whole") {
  constexpr uint64_t rows = 1056;
  constexpr uint64_t cols = 4129;
  Backend backend;
  REQUIRE(backend.table->device->set_num_threads(backend.instance, 2) == TL_OK);
  const std::vector<float> x = counted<float>(rows * cols);
  CHECK(swap(backend, x, 1, rows, cols, 1) == swapped(x, 1, rows, cols, 1));
  const std::vector<float> aligned = counted<float>(4128 * 1072);
  CHECK(swap(backend, aligned, 1, 4128, 1072, 1) == swapped(aligned, 1, 4128, 1072, 1));
  for (const uint64_t source_cols : {1072U, 1073U}) {  // rows of the result are not
    const std::vector<float> apart = counted<float>(4129 * source_cols);
    CHECK(swap(backend, apart, 1, 4129, source_cols, 1) == swapped(apart, 1, 4129, source_cols, 1));
  }
  const std::vector<float> runs = counted<float>(16 * 544 * 8 * 64);
  CHECK(swap(backend, runs, 16, 544, 8, 64) == swapped(runs, 16, 544, 8, 64));
  std::vector<uint32_t> reversed(rows);
  std::vector<float> expected;
  for (uint32_t i = 0; i < rows; ++i) {
    reversed[i] = static_cast<uint32_t>(rows) - 1 - i;
    const auto from = x.begin() + static_cast<int64_t>(reversed[i] * cols);
    expected.insert(expected.end(), from, from + cols);
  }
  CHECK(gather(backend, x, cols, reversed) == expected);
  // To memory of the caller's, between elements that stay what they were.
  std::vector<float> read(x.size() + 2, -1);
  const Buffer<float> operand(backend, x);
  REQUIRE(backend.table->transfer->download(backend.instance, operand.operand(), TL_FLOAT32,
                                            read.data() + 1) == TL_OK);
  CHECK(std::equal(x.begin(), x.end(), read.begin() + 1));
  CHECK(read.front() == -1);
  CHECK(read.back() == -1);
}
