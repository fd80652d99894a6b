// Fourier transforms: what is taken for granted of ATen's, and threads.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <numbers>

using fake_host::backend;

namespace {

template <class T>
std::vector<T> transform(const Session &session, tl_fourier_op op, const std::vector<T> &x,
                         uint64_t batch, uint64_t n) {
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(backend().fourier->transform(session.get(), op, operand.operand(), batch, n, 0, &out));
  CHECK(same_bits(operand.values<T>(), x));
  const uint64_t width = op == TL_FOURIER_RFFT ? 2 * (n / 2 + 1) : n;
  return Buffer(session, out, batch * width, dtype_of<T>, sizeof(T)).template values<T>();
}

// cos and sin of k/n turns.
struct Circle {
  explicit Circle(size_t n) {
    for (size_t k = 0; k < n; ++k) {
      const long double angle = 2 * std::numbers::pi_v<long double> * k / n;
      cosine.push_back(std::cos(angle));
      sine.push_back(std::sin(angle));
    }
  }
  std::vector<long double> cosine, sine;
};

template <class T>
std::vector<long double> bins_of(const std::vector<T> &x, const Circle &circle) {
  const size_t n = x.size();
  std::vector<long double> bins(2 * (n / 2 + 1));
  for (size_t k = 0; k <= n / 2; ++k)
    for (size_t j = 0; j < n; ++j) {
      bins[2 * k] += x[j] * circle.cosine[j * k % n];
      bins[2 * k + 1] -= x[j] * circle.sine[j * k % n];
    }
  return bins;
}

// Unnormalised.
template <class T>
std::vector<long double> signal_of(const std::vector<T> &bins, const Circle &circle) {
  const size_t n = circle.cosine.size();
  std::vector<long double> x(n, bins[0]);
  for (size_t j = 0; j < n; ++j)
    for (size_t k = 1; k <= n / 2; ++k)
      x[j] += (2 * k == n ? 1 : 2) * bins[2 * k] * circle.cosine[j * k % n] -
              (2 * k == n ? 0 : 2) * bins[2 * k + 1] * circle.sine[j * k % n];
  return x;
}

// The relative L2 error over its bound.
template <class T>
long double error(const std::vector<T> &got, const std::vector<long double> &exact,
                  long double divisor) {
  long double difference = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const long double value = exact[i] / divisor;
    difference += (got[i] - value) * (got[i] - value);
    size += value * value;
  }
  return std::sqrt(difference / size) / std::numeric_limits<T>::epsilon();
}

constexpr tl_fourier_op inverses[] = {TL_FOURIER_IRFFT, TL_FOURIER_IRFFT_UNNORMALIZED};

}  // namespace

TEST_CASE_TEMPLATE("transforms of every length keep the bound", T, float, double) {
  std::vector<size_t> lengths = {97, 127, 134, 201, 256, 257, 509, 1009};
  for (size_t n = 1; n <= 66; ++n) lengths.push_back(n);
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    for (const size_t n : lengths) {
      INFO(n);
      const Circle circle(n);
      const long double bound = 4 * std::log2(static_cast<long double>(n)) + 4;
      const auto x = uniform_values<T>(n, n, T(-1), T(1));
      CHECK(error(transform(session, TL_FOURIER_RFFT, x, 1, n), bins_of(x, circle), 1) <= bound);
      const auto bins = uniform_values<T>(2 * (n / 2 + 1), n, T(-1), T(1));
      const auto signal = signal_of(bins, circle);
      CHECK(error(transform(session, TL_FOURIER_IRFFT, bins, 1, n), signal, n) <= bound);
      CHECK(error(transform(session, TL_FOURIER_IRFFT_UNNORMALIZED, bins, 1, n), signal, 1) <=
            bound);
    }
  }
}

TEST_CASE_TEMPLATE("the inverse ignores imaginary parts that no real signal has, NaN too", T, float,
                   double) {
  const Session session;
  std::vector<size_t> lengths = {256, 509, 1009, 1024, 8192, 10007};
  for (size_t n = 1; n <= 70; ++n) lengths.push_back(n);
  size_t wrong = 0;
  for (const size_t n : lengths)
    for (const tl_fourier_op op : inverses) {
      const size_t width = 2 * (n / 2 + 1);
      auto bins = uniform_values<T>(3 * width, n, T(-1), T(1));
      const auto with = [&](T imaginary) {
        for (size_t row = 0; row < 3; ++row) {
          bins[row * width + 1] = imaginary;
          if (n % 2 == 0) bins[row * width + n + 1] = imaginary;
        }
        return transform(session, op, bins, 3, n);
      };
      const auto expected = with(0);
      wrong += !same_bits(with(3), expected);
      wrong += !same_bits(with(std::numeric_limits<T>::quiet_NaN()), expected);
    }
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("nothing over- or underflows on the way", T, float, double) {
  constexpr T big = std::numeric_limits<T>::max() / 4, tiny = std::numeric_limits<T>::denorm_min();
  const Session session;
  for (const size_t n : {2, 7, 67, 128}) {
    INFO(n);
    const long double bound = 4 * std::log2(static_cast<long double>(n)) + 4;
    // All of the signal in one bin, and an inverse whose sum is n times its mean.
    std::vector<T> bins(2 * (n / 2 + 1));
    bins[0] = big;
    const std::vector<long double> signal(n, big);
    CHECK(error(transform(session, TL_FOURIER_IRFFT_UNNORMALIZED, bins, 1, n), signal, 1) <= bound);
    CHECK(error(transform(session, TL_FOURIER_IRFFT, bins, 1, n), signal, n) <= bound);
    // Each subnormal term may miss by four smallest subnormals, the result by two.
    bins[0] = tiny;
    for (const T y : transform(session, TL_FOURIER_IRFFT_UNNORMALIZED, bins, 1, n))
      CHECK(std::fabs(y - tiny) <= 6 * tiny);
    const T sum = transform(session, TL_FOURIER_RFFT, std::vector<T>(n, 5 * tiny), 1, n)[0];
    CHECK(sum > 0);
    CHECK(std::fabs(sum - T(n) * 5 * tiny) <= (4 * T(n) + 2) * tiny);
  }
}
