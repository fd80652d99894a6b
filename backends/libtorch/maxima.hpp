// Largest elements, where a NaN is greater than nothing.
#pragma once

#include "kernels.hpp"

#include <algorithm>
#include <limits>

namespace torchlean::libtorch {

// maxima[i] = max(maxima[i], x[i])
template <class T>
TL_LOOP void raise_to(T *maxima, const T *x, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) maxima[i] = x[i] > maxima[i] ? x[i] : maxima[i];
}

// Of n elements; -Inf where there is no number.
template <class T>
T row_max(const T *x, int64_t n) {
  constexpr int64_t lanes = 64;
  T maxima[lanes];
  std::fill_n(maxima, lanes, -std::numeric_limits<T>::infinity());
  for (int64_t start = 0; start < n; start += lanes)
    raise_to(maxima, x + start, std::min(lanes, n - start));
  for (int64_t width = lanes / 2; width > 0; width /= 2) raise_to(maxima, maxima + width, width);
  return maxima[0];
}

}  // namespace torchlean::libtorch
