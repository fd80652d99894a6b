// Real Fourier transforms of any length in O(n log n), in a type W wider than their numbers' T,
// whose exponent range also spares the inverse every over- and underflow that the plain sum would
// not have. For backends that check others: accuracy before speed.
#pragma once

#include "root_of_unity.hpp"

#include <array>
#include <bit>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace torchlean::wide_fourier {

// exp(-2 pi i k/n), rounded once.
template <class W>
std::complex<W> root(uint64_t k, uint64_t n) {
  return std::complex<W>(root_of_unity<long double>(k, n));
}

// -k modulo n, of k < n.
inline uint64_t negative(uint64_t k, uint64_t n) { return k == 0 ? 0 : n - k; }

inline uint64_t smallest_prime_factor(uint64_t n) {
  for (uint64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

// y[k] = sum over j of x[j] exp(-2 pi i jk/n), split by the prime factors of n: a sum of p terms
// each for a small prime p, Bluestein's convolution for what larger primes are left.
template <class W>
class Transform {
 public:
  using Complex = std::complex<W>;

  explicit Transform(uint64_t n) : n_(n), roots_(n) {
    for (uint64_t k = 0; k < n; ++k) roots_[k] = root<W>(k, n);
    uint64_t rest = n;
    while (rest > 1 && smallest_prime_factor(rest) <= largest_summed)
      rest /= smallest_prime_factor(rest);
    if (rest > 1) convolution_ = std::make_unique<Convolution>(rest);
  }

  std::vector<Complex> operator()(const std::vector<Complex> &x) const {
    std::vector<Complex> y(n_);
    run(x.data(), n_, 1, y.data());
    return y;
  }

 private:
  static constexpr uint64_t largest_summed = 61;
  struct Convolution;

  // The transform of the n values x[0], x[stride], ...; n * stride is n_.
  void run(const Complex *x, uint64_t n, uint64_t stride, Complex *y) const {
    if (n == 1) {
      *y = *x;
      return;
    }
    const uint64_t p = smallest_prime_factor(n);
    if (p > largest_summed) return convolution_->run(x, stride, y);
    const uint64_t m = n / p;
    for (uint64_t r = 0; r < p; ++r) run(x + r * stride, m, stride * p, y + r * m);
    std::array<Complex, largest_summed> part;
    for (uint64_t k = 0; k < m; ++k) {
      part[0] = y[k];
      for (uint64_t r = 1; r < p; ++r) part[r] = y[r * m + k] * roots_[r * k * stride];
      for (uint64_t q = 0; q < p; ++q) {
        Complex sum = part[0];
        for (uint64_t r = 1; r < p; ++r) sum += part[r] * roots_[r * q % p * (n_ / p)];
        y[q * m + k] = sum;
      }
    }
  }

  uint64_t n_;
  std::vector<Complex> roots_;
  std::unique_ptr<Convolution> convolution_;
};

// Bluestein: with c[k] = exp(-pi i k^2/n) and jk = (j^2 + k^2 - (k - j)^2)/2, the transform is
// y[k] = c[k] * sum over j of (x[j] c[j]) * conj(c[k - j]): a convolution, done with the transform
// of a power of two.
template <class W>
struct Transform<W>::Convolution {
  explicit Convolution(uint64_t n) : length(std::bit_ceil(2 * n - 1)), transform(length), chirp(n) {
    std::vector<Complex> kernel(length);
    for (uint64_t k = 0; k < n; ++k) {
      chirp[k] = root<W>(k * k % (2 * n), 2 * n);
      kernel[k] = kernel[negative(k, length)] = std::conj(chirp[k]);
    }
    spectrum = transform(kernel);
  }

  void run(const Complex *x, uint64_t stride, Complex *y) const {
    std::vector<Complex> values(length);
    for (uint64_t j = 0; j < chirp.size(); ++j) values[j] = x[j * stride] * chirp[j];
    values = transform(values);
    for (uint64_t k = 0; k < length; ++k) values[k] *= spectrum[k];
    values = transform(values);  // twice forward: the inverse backwards, times the length
    for (uint64_t k = 0; k < chirp.size(); ++k)
      y[k] = chirp[k] * values[negative(k, length)] / static_cast<W>(length);
  }

  uint64_t length;
  Transform transform;
  std::vector<Complex> chirp;
  std::vector<Complex> spectrum;
};

// ---- Real signals, and the first half of their spectrum -----------------------------------------

// Of a real signal the first bin is real, and the middle one of an even length.
inline bool is_real_bin(uint64_t k, uint64_t n) { return k == 0 || 2 * k == n; }

template <class T, class W>
void forward(const Transform<W> &transform, std::span<const T> x, T *bins) {
  const uint64_t n = x.size();
  const auto y = transform({x.begin(), x.end()});
  for (uint64_t k = 0; k <= n / 2; ++k) {
    bins[2 * k] = static_cast<T>(y[k].real());
    bins[2 * k + 1] = is_real_bin(k, n) ? T(0) : static_cast<T>(y[k].imag());
  }
}

// The inverse of a spectrum whose other half is the mirror image, times n / divisor: the forward
// transform of the conjugates.
template <class T, class W>
void inverse(const Transform<W> &transform, std::span<const T> bins, uint64_t divisor,
             std::span<T> x) {
  const uint64_t n = x.size();
  std::vector<std::complex<W>> spectrum(n);
  for (uint64_t k = 0; k <= n / 2; ++k) {
    const W imaginary = is_real_bin(k, n) ? T(0) : bins[2 * k + 1];
    spectrum[negative(k, n)] = {bins[2 * k], imaginary};
    spectrum[k] = {bins[2 * k], -imaginary};
  }
  const auto y = transform(spectrum);
  for (uint64_t j = 0; j < n; ++j) x[j] = static_cast<T>(y[j].real() / static_cast<W>(divisor));
}

}  // namespace torchlean::wide_fourier
