// Fourier transforms of every small length against the sums that define them, and long ones there
// and back.
#include "every_target.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> uniform(uint64_t count) {
  std::mt19937_64 random(9);
  std::vector<T> x(count);
  for (T &value : x) value = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  return x;
}

template <class T>
std::vector<T> transform(Backend &backend, tl_fourier_op op, uint64_t batch, uint64_t n,
                         const std::vector<T> &values) {
  const Buffer<T> x(backend, values);
  const uint64_t count = batch * (op == TL_FOURIER_RFFT ? 2 * (n / 2 + 1) : n);
  return result<T>(backend, count, [&](tl_storage **out) {
    return backend.table->fourier->transform(backend.instance, op, x.operand(), batch, n, 0, out);
  });
}

// The specification's bound for the norm of the error of one transform.
template <class T>
double relative_bound(uint64_t n) {
  return 4 * std::numeric_limits<T>::epsilon() * (std::log2(static_cast<double>(n)) + 1);
}

// The spectrum of one row, as sums.
std::vector<double> spectrum(uint64_t n, const std::vector<double> &x,
                             const std::vector<double> &cosines) {
  std::vector<double> bins;
  for (uint64_t k = 0; k <= n / 2; ++k) {
    double re = 0;
    double im = 0;
    for (uint64_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) {
      re += x[j] * cosines[at];
      im -= x[j] * cosines[n + at];
    }
    bins.push_back(re);
    bins.push_back(im);
  }
  return bins;
}

template <class T>
double distance(const T *x, const std::vector<double> &expected) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (static_cast<double>(x[i]) - expected[i]) * (static_cast<double>(x[i]) - expected[i]);
    norm += expected[i] * expected[i];
  }
  return norm == 0 ? error : std::sqrt(error / norm);
}

}  // namespace

// More rows than any vector has lanes, of which the first and the last are looked at.
TEST_CASE_TEMPLATE("spectra of lengths 1 to 300 are the sums that define them", T, float, double) {
  constexpr uint64_t batch = 17;
  const auto backends = every_target();
  for (uint64_t n = 1; n <= 300; n += n < 70 ? 1 : 7) {
    CAPTURE(n);
    const auto x = uniform<T>(batch * n);
    std::vector<double> roots(2 * n);
    for (uint64_t k = 0; k < n; ++k) {
      const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                                static_cast<long double>(n);
      roots[k] = static_cast<double>(std::cos(angle));
      roots[n + k] = static_cast<double>(std::sin(angle));
    }
    // The sums themselves are rounded.
    const double bound = relative_bound<T>(n) + static_cast<double>(n) * 0x1p-53;
    const uint64_t width = 2 * (n / 2 + 1);
    for (const uint64_t row : {uint64_t{0}, batch - 1}) {
      const std::vector<double> signal(x.begin() + static_cast<std::ptrdiff_t>(row * n),
                                       x.begin() + static_cast<std::ptrdiff_t>((row + 1) * n));
      const auto expected = spectrum(n, signal, roots);
      for (const auto &backend : backends) {
        const auto bins = transform(*backend, TL_FOURIER_RFFT, batch, n, x);
        CHECK(distance(bins.data() + row * width, expected) <= bound);
        const auto back = transform(*backend, TL_FOURIER_IRFFT, batch, n, bins);
        CHECK(distance(back.data() + row * n, signal) <= 2 * bound);
      }
    }
  }
}

// Powers of two, products of small primes and of larger ones, primes; a single row and several.
TEST_CASE_TEMPLATE("long signals come back, with the same bits on any number of threads", T, float,
                   double) {
  const auto backends = every_target();
  Backend &backend = *backends.back();
  for (const uint64_t n :
       {245, 343, 490, 686, 1000, 2310, 4096, 16384, 30030, 1009, 2017, 10007, 14014, 20014})
    for (const uint64_t batch : {1, 3, 20}) {
      CAPTURE(n);
      CAPTURE(batch);
      const auto x = uniform<T>(batch * n);
      REQUIRE(backend.table->device->set_num_threads(backend.instance, 1) == TL_OK);
      const auto bins = transform(backend, TL_FOURIER_RFFT, batch, n, x);
      const auto back = transform(backend, TL_FOURIER_IRFFT, batch, n, bins);
      CHECK(distance(back.data(), std::vector<double>(x.begin(), x.end())) <=
            2 * relative_bound<T>(n));
      REQUIRE(backend.table->device->set_num_threads(backend.instance, 4) == TL_OK);
      CHECK(transform(backend, TL_FOURIER_RFFT, batch, n, x) == bins);
      CHECK(transform(backend, TL_FOURIER_IRFFT, batch, n, bins) == back);
    }
}

// A round trip would not notice a permutation: a single wave shows which bin is which.
TEST_CASE_TEMPLATE("a wave of a long signal is in its bin", T, float, double) {
  for (const auto &backend : every_target())
    for (const uint64_t n : {3000, 4095, 4096, 5040, 6006, 7436, 10007, 15015, 16384, 20014})
      for (const uint64_t batch : {1, 2}) {
        CAPTURE(n);
        CAPTURE(batch);
        constexpr uint64_t bin = 1234;
        std::vector<T> x(batch * n);
        for (uint64_t j = 0; j < n; ++j)
          x[j] = x[(batch - 1) * n + j] = static_cast<T>(std::cos(
              2 * std::numbers::pi * static_cast<double>(bin * j % n) / static_cast<double>(n)));
        std::vector<double> expected(2 * (n / 2 + 1));
        expected[2 * bin] = static_cast<double>(n) / 2;
        const auto bins = transform(*backend, TL_FOURIER_RFFT, batch, n, x);
        CHECK(distance(bins.data() + (batch - 1) * expected.size(), expected) <=
              2 * relative_bound<T>(n));
      }
}
