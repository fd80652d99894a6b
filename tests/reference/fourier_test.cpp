// Fourier transforms against the sums that define them, in 400 digits.
#include "fixture.hpp"
#include "support/number.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> transform(tl_fourier_op op, const std::vector<T> &x, uint64_t batch, uint64_t n) {
  Backend backend;
  const Buffer<T> operand(backend, x);
  const uint64_t width = op == TL_FOURIER_RFFT ? 2 * (n / 2 + 1) : n;
  return result<T>(backend, batch * width, [&](tl_storage **out) {
    return backend.table->fourier->transform(backend.instance, op, operand.operand(), batch, n, 0,
                                             out);
  });
}

// cos and sin of k/n turns for all k < n.
struct Circle {
  explicit Circle(size_t n) {
    for (size_t k = 0; k < n; ++k) {
      cosine.push_back(cos_turn(Number(k), n));
      sine.push_back(sin_turn(Number(k), n));
    }
  }
  std::vector<Number> cosine, sine;
};

// Of x, whose elements are mostly 0 where n is large.
template <class T>
std::vector<Number> bins_of(const std::vector<T> &x, const Circle &circle) {
  const size_t n = x.size();
  std::vector<Number> bins;
  for (size_t k = 0; k <= n / 2; ++k) {
    Number re(0), im(0);
    for (size_t j = 0; j < n; ++j)
      if (x[j] != 0) {
        re += x[j] * circle.cosine[j * k % n];
        im += 0 - x[j] * circle.sine[j * k % n];
      }
    bins.push_back(re);
    bins.push_back(im);
  }
  return bins;
}

template <class T>
std::vector<Number> signal_of(const std::vector<T> &bins, const Circle &circle) {
  const size_t n = circle.cosine.size();
  std::vector<Number> x;
  for (size_t j = 0; j < n; ++j) {
    Number sum = bins[0];
    for (size_t k = 1; k <= n / 2; ++k) {
      if (2 * k == n)
        sum += bins[n] * circle.cosine[j * k % n];
      else
        sum +=
            2 * (bins[2 * k] * circle.cosine[j * k % n] - bins[2 * k + 1] * circle.sine[j * k % n]);
    }
    x.push_back(sum);
  }
  return x;
}

// ||got - exact * factor|| / ||exact * factor|| in eps.
template <class T>
double relative_error(const std::vector<T> &got, const std::vector<Number> &exact,
                      const Number &factor) {
  Number difference(0), size(0);
  for (size_t i = 0; i < got.size(); ++i) {
    const Number value = exact[i] * factor;
    difference += (got[i] - value) * (got[i] - value);
    size += value * value;
  }
  const double eps = std::numeric_limits<T>::epsilon();
  return size <= 0 ? 0 : sqrt(difference / size).template rounded<double>() / eps;
}

}  // namespace

TEST_CASE_TEMPLATE("transforms of every length err by the last rounding alone", T, float, double) {
  std::vector<size_t> lengths = {64, 67, 96, 97, 121, 127, 134, 135, 201, 256, 257};
  for (size_t n = 1; n <= 32; ++n) lengths.push_back(n);
  for (const size_t n : lengths) {
    INFO(n);
    const Circle circle(n);
    const auto x = normal_values<T>(n);
    CHECK(relative_error(transform(TL_FOURIER_RFFT, x, 1, n), bins_of(x, circle), 1) < 0.51);
    const auto bins = normal_values<T>(2 * (n / 2 + 1));
    const auto signal = signal_of(bins, circle);
    CHECK(relative_error(transform(TL_FOURIER_IRFFT_UNNORMALIZED, bins, 1, n), signal, 1) < 0.51);
    CHECK(relative_error(transform(TL_FOURIER_IRFFT, bins, 1, n), signal, Number(1) / n) < 0.51);
  }
}

TEST_CASE_TEMPLATE("long transforms of a few impulses err by the last rounding alone", T, float,
                   double) {
  // Powers of two and their neighbours, primes, products of two primes that are not summed.
  for (const size_t n : {1009, 1024, 4096, 4097, 67 * 71, 10007}) {
    INFO(n);
    std::vector<T> x(n);
    x[1] = T(0.7), x[n / 3] = T(-1.1), x[n - 2] = T(2.3);
    CHECK(relative_error(transform(TL_FOURIER_RFFT, x, 1, n), bins_of(x, Circle(n)), 1) < 0.51);
  }
}

TEST_CASE("small transforms come out as they are known") {
  CHECK(transform<float>(TL_FOURIER_RFFT, {3}, 1, 1) == std::vector<float>{3, 0});
  CHECK(transform<float>(TL_FOURIER_RFFT, {3, 5}, 1, 2) == std::vector<float>{8, 0, -2, 0});
  CHECK(transform<double>(TL_FOURIER_RFFT, {1, 2, 3, 4}, 1, 4) ==
        std::vector<double>{10, 0, -2, 2, -2, 0});
  CHECK(transform<double>(TL_FOURIER_IRFFT, {10, 0, -2, 2, -2, 0}, 1, 4) ==
        std::vector<double>{1, 2, 3, 4});
  CHECK(transform<float>(TL_FOURIER_IRFFT_UNNORMALIZED, {10, 0, -2, 2, -2, 0}, 1, 4) ==
        std::vector<float>{4, 8, 12, 16});
}

TEST_CASE_TEMPLATE("a real signal has no imaginary part in its first and middle bin", T, float,
                   double) {
  for (const size_t n : {6, 67, 134, 1000}) {
    const auto bins = transform(TL_FOURIER_RFFT, normal_values<T>(n), 1, n);
    CHECK(bins[1] == 0);
    if (n % 2 == 0) CHECK(bins[n + 1] == 0);
  }
}

TEST_CASE_TEMPLATE("nothing over- or underflows on the way", T, float, double) {
  constexpr T largest = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  for (const size_t n : {2, 7, 67, 128}) {
    INFO(n);
    // All of the signal in one bin, and an inverse whose sum is n times its mean.
    std::vector<T> bins(2 * (n / 2 + 1));
    bins[0] = largest;
    CHECK(transform(TL_FOURIER_IRFFT_UNNORMALIZED, bins, 1, n) == std::vector<T>(n, largest));
    const T mean = (Number(largest) / n).template rounded<T>();
    CHECK(transform(TL_FOURIER_IRFFT, bins, 1, n) == std::vector<T>(n, mean));
    bins[0] = tiny;
    CHECK(transform(TL_FOURIER_IRFFT_UNNORMALIZED, bins, 1, n) == std::vector<T>(n, tiny));
    const auto y = transform(TL_FOURIER_RFFT, std::vector<T>(n, tiny), 1, n);
    CHECK(y[0] == static_cast<T>(n) * tiny);
  }
}
