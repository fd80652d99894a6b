// The libraries' host side: what they compute, by plain loops in a fixed order.
#include "../libraries.hpp"

#include "../../host/wide_fourier.hpp"

#include <algorithm>
#include <type_traits>

namespace torchlean::cuda::device {

// Each term rounded, then added: for every element in the order of the terms. tf32 allows less
// accuracy, of which no use is made.
template <class T>
void multiply(Stream &, const char *, const Product<T> &product, bool) {
  const auto &[batch, rows, columns, terms, first, transpose_a, second, transpose_b, result] =
      product;
  for (uint64_t s = 0; s < batch; ++s) {
    const T *const a = first + s * rows * terms;
    const T *const b = second + s * terms * columns;
    T *const c = result + s * rows * columns;
    std::fill_n(c, rows * columns, T(0));
    for (uint64_t j = 0; j < columns; ++j) {
      for (uint64_t k = 0; k < terms; ++k) {
        const T factor = transpose_b ? b[k * columns + j] : b[j * terms + k];
        for (uint64_t i = 0; i < rows; ++i) {
          c[j * rows + i] += (transpose_a ? a[i * terms + k] : a[k * rows + i]) * factor;
        }
      }
    }
  }
}

namespace {

template <class T>
using Transform = wide_fourier::Transform<std::conditional_t<sizeof(T) == 4, double, long double>>;

uint64_t words_of_bins(uint64_t n) { return 2 * (n / 2 + 1); }

}  // namespace

template <class T>
void transform_forward(Stream &, const char *, uint64_t batch, uint64_t n, const T *signal,
                       T *bins) {
  const Transform<T> plan(n);
  for (uint64_t row = 0; row < batch; ++row) {
    wide_fourier::forward(plan, std::span(signal + row * n, n), bins + row * words_of_bins(n));
  }
}

template <class T>
void transform_inverse(Stream &, const char *, uint64_t batch, uint64_t n, T *bins, T *signal) {
  const Transform<T> plan(n);
  const uint64_t words = words_of_bins(n);
  for (uint64_t row = 0; row < batch; ++row) {
    wide_fourier::inverse(plan, std::span<const T>(bins + row * words, words), 1,
                          std::span(signal + row * n, n));
  }
  std::fill_n(bins, batch * words, T(NAN));  // as the library may
}

template void multiply<float>(Stream &, const char *, const Product<float> &, bool);
template void multiply<double>(Stream &, const char *, const Product<double> &, bool);
template void transform_forward<float>(Stream &, const char *, uint64_t, uint64_t, const float *,
                                       float *);
template void transform_forward<double>(Stream &, const char *, uint64_t, uint64_t, const double *,
                                        double *);
template void transform_inverse<float>(Stream &, const char *, uint64_t, uint64_t, float *,
                                       float *);
template void transform_inverse<double>(Stream &, const char *, uint64_t, uint64_t, double *,
                                        double *);

}  // namespace torchlean::cuda::device
