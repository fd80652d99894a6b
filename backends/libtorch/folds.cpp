// Sums in the order that deterministic mode prescribes (section 4 of the specification).
#include "folds.hpp"

namespace torchlean::libtorch {
namespace {

constexpr int64_t lanes_per_block = 256;
constexpr int64_t max_blocks = 65535;

// Adds `count` neighbouring elements to as many sums.
template <class T>
TL_LOOP void add_to(T *sums, const T *x, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) sums[i] += x[i];
}

// The block whose first lane starts at element `first`.
template <class T>
T block_total(const T *x, int64_t n, int64_t first, int64_t lanes) {
  T sums[lanes_per_block] = {};
  for (int64_t start = first; start < n; start += lanes)
    add_to(sums, x + start, std::min(lanes_per_block, n - start));
  for (int64_t width = lanes_per_block / 2; width > 0; width /= 2)
    add_to(sums, sums + width, width);
  return sums[0];
}

}  // namespace

template <class T>
T total_by_lanes(const T *x, int64_t n) {
  if (n == 0) return T(0);
  const int64_t blocks = std::min((n + lanes_per_block - 1) / lanes_per_block, max_blocks);
  const at::Tensor totals = empty(blocks, scalar_type<T>);
  T *const total = totals.mutable_data_ptr<T>();
  each_task(blocks, n / blocks, [=](int64_t block) {
    total[block] = block_total(x, n, block * lanes_per_block, blocks * lanes_per_block);
  });
  return blocks == 1 ? total[0] : total_by_lanes(total, blocks);
}

template <class T>
void fold_middle_axis(T *out, const T *x, int64_t outer, int64_t n, int64_t inner) {
  // A strip of columns whose sums stay in the nearest cache.
  each_strip(outer, n, inner, 1024, [=](int64_t row, int64_t begin, int64_t width) {
    T *const sums = out + row * inner + begin;
    const T *const from = x + row * n * inner + begin;
    std::fill_n(sums, width, T(0));
    if (inner == 1) {
      T sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += from[k];
      sums[0] = sum;
    } else {
      for (int64_t k = 0; k < n; ++k) add_to(sums, from + k * inner, width);
    }
  });
}

template float total_by_lanes(const float *, int64_t);
template double total_by_lanes(const double *, int64_t);
template void fold_middle_axis(float *, const float *, int64_t, int64_t, int64_t);
template void fold_middle_axis(double *, const double *, int64_t, int64_t, int64_t);

}  // namespace torchlean::libtorch
