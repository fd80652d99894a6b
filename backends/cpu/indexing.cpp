// Rows picked from a matrix, and rows added to it.
//
// Updates are added in index order in either mode: each thread takes the updates of its own rows,
// one thread those of single elements.
#include "blocks.hpp"
#include "cpu.hpp"
#include "map.hpp"
#include "moves.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "indexing.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "words-inl.h"

#ifndef TORCHLEAN_CPU_INDEXING_ONCE
#define TORCHLEAN_CPU_INDEXING_ONCE
namespace torchlean::cpu {
namespace {

template <class T>
struct Matrix {
  T *values;
  uint64_t rows;
  uint64_t cols;

  T *row(uint64_t index) const { return values + index * cols; }
};

template <class T>
struct IndexingKernels {
  // Row i of y is row indices[i] of source, or zeros, for i < k.
  void (*gather)(Matrix<const T> source, const uint32_t *indices, uint64_t k, T *y, bool stream);
  // Adds row i of values to row indices[i] of y for each i < k whose index is in [begin, end).
  void (*scatter)(const T *values, const uint32_t *indices, uint64_t k, uint64_t begin,
                  uint64_t end, Matrix<T> y);
};

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// How many rows ahead memory is asked for what will be read, and up to how much of each.
constexpr uint64_t ahead = 16;
constexpr uint64_t bytes_ahead = 512;

template <class T>
HWY_INLINE void fetch(Matrix<T> matrix, uint64_t row) {
  if (row >= matrix.rows) return;
  const auto *const from = reinterpret_cast<const char *>(matrix.row(row));
  const uint64_t bytes = matrix.cols * sizeof(T);
  for (uint64_t i = 0; i < bytes && i < bytes_ahead; i += 64) __builtin_prefetch(from + i);
}

template <class T>
void gather(Matrix<const T> source, const uint32_t *indices, uint64_t k, T *y, bool stream) {
  for (uint64_t i = 0; i < k; ++i) {
    if (i + ahead < k) fetch(source, indices[i + ahead]);
    T *const to = y + i * source.cols;
    if (indices[i] < source.rows) {
      write_words(to, source.cols, stream, Copied<T>{source.row(indices[i])});
    } else {
      write_words(to, source.cols, stream, Repeated<T>{0});
    }
  }
  if (stream) hwy::FlushStream();
}

template <class T>
void scatter(const T *values, const uint32_t *indices, uint64_t k, uint64_t begin, uint64_t end,
             Matrix<T> y) {
  for (uint64_t i = 0; i < k; ++i) {
    if (indices[i] < begin || indices[i] >= end) continue;
    T *const to = y.row(indices[i]);
    const T *const added = values + i * y.cols;
    each_vector<T>(y.cols, [=](auto d, auto lanes, uint64_t j) HWY_ATTR {
      lanes.store(hn::Add(lanes.load(d, to + j), lanes.load(d, added + j)), d, to + j);
    });
  }
}

// Of single elements.
template <class T>
void gather_elements(Matrix<const T> source, const uint32_t *indices, uint64_t k, T *y, bool) {
  for (uint64_t i = 0; i < k; ++i) {
    if (i + ahead < k) fetch(source, indices[i + ahead]);
    y[i] = indices[i] < source.rows ? source.values[indices[i]] : T(0);
  }
}

template <class T>
void scatter_elements(const T *values, const uint32_t *indices, uint64_t k, uint64_t begin,
                      uint64_t end, Matrix<T> y) {
  for (uint64_t i = 0; i < k; ++i)
    if (indices[i] >= begin && indices[i] < end) y.values[indices[i]] += values[i];
}

}  // namespace

template <class T>
constexpr IndexingKernels<T> row_kernels = {gather<T>, scatter<T>};
template <class T>
constexpr IndexingKernels<T> element_kernels = {gather_elements<T>, scatter_elements<T>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// Elements that make a piece of work.
constexpr uint64_t piece = 16384;

template <class T>
const IndexingKernels<T> &kernels_for(const tl_instance &instance, uint64_t cols) {
  return cols == 1 ? TORCHLEAN_CPU_CHOOSE(instance.target, element_kernels<T>)
                   : TORCHLEAN_CPU_CHOOSE(instance.target, row_kernels<T>);
}

void gather_rows(tl_instance &instance, const tl_operand *operand, uint64_t rows, uint64_t cols,
                 const uint32_t *indices, uint64_t k, tl_flags, tl_storage **out) {
  expect_given("source", operand);
  if (k > 0) expect_given("indices", indices);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto source = values_of<T>("source", operand);
    expect_equal("source.count", source.size(), product({rows, cols}));
    check_count(product({k, cols}));
    Result<T> y(instance, k * cols);
    const auto &kernels = kernels_for<T>(instance, cols);
    const bool stream = exceeds_caches(k * cols * sizeof(T));
    parallel_for(instance, cols == 0 ? 0 : k, piece / std::max<uint64_t>(cols, 1) + 1,
                 [&](uint64_t begin, uint64_t end) {
                   kernels.gather({source.data(), rows, cols}, indices + begin, end - begin,
                                  y.begin() + begin * cols, stream);
                 });
    hand_out(out, y);
  });
}

void scatter_add_rows(tl_instance &instance, const tl_operand *start, const tl_operand *added,
                      uint64_t rows, uint64_t cols, const uint32_t *indices, uint64_t k, tl_flags,
                      tl_storage **out) {
  expect_given("base", start);
  if (k > 0) expect_given("indices", indices);
  with_native(start->dtype, [&]<class T>(T) {
    const auto base = values_of<T>("base", start);
    const auto values = values_of<T>("values", added);
    expect_equal("base.count", base.size(), product({rows, cols}));
    expect_equal("values.count", values.size(), product({k, cols}));
    Result<T> y(instance, base.size());
    const auto &kernels = kernels_for<T>(instance, cols);
    if (cols == 1) {
      // Each thread would look through all indices, and guess wrong at every other one.
      copy_bytes(instance, base.data(), y.begin(), base.size_bytes());
      kernels.scatter(values.data(), indices, k, 0, rows, {y.begin(), rows, cols});
      return hand_out(out, y);
    }
    // One piece for each thread, since each looks through all indices.
    const uint64_t threads =
        (base.size() + values.size()) / piece + 1 < 2 ? 1 : instance.threads.load();
    parallel_for(instance, base.empty() ? 0 : rows, blocks_in(rows, threads),
                 [&](uint64_t begin, uint64_t end) {
                   std::memcpy(y.begin() + begin * cols, base.data() + begin * cols,
                               (end - begin) * cols * sizeof(T));
                   kernels.scatter(values.data(), indices, k, begin, end, {y.begin(), rows, cols});
                 });
    hand_out(out, y);
  });
}

}  // namespace

const tl_indexing_table indexing_table = {
    .struct_size = sizeof(tl_indexing_table),
    .gather_rows = entry<"gather_rows", gather_rows>,
    .scatter_add_rows = entry<"scatter_add_rows", scatter_add_rows>,
};

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
