// Matrix products: their bound, their repeatability, the honest flag, and ATen's own errors.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

using fake_host::backend;

namespace {

tl_bmm_params shape(uint64_t batch, uint64_t m, uint64_t n, uint64_t p, bool transpose_a = false,
                    bool transpose_b = false) {
  return {sizeof(tl_bmm_params), batch, m, n, p, transpose_a, transpose_b};
}

template <class T>
std::vector<T> bmm(const Session &session, const std::vector<T> &a, const std::vector<T> &b,
                   const tl_bmm_params &params) {
  const Buffer left(session, a), right(session, b);
  tl_storage *out = nullptr;
  require_ok(
      backend().matmul->bmm(session.get(), left.operand(), right.operand(), &params, 0, &out));
  CHECK(same_bits(left.values<T>(), a));
  CHECK(same_bits(right.values<T>(), b));
  return Buffer(session, out, params.batch * params.m * params.p, dtype_of<T>, sizeof(T))
      .template values<T>();
}

template <class T>
struct Scaled {
  std::vector<T> values;
  uint32_t replay;
};

template <class T>
Scaled<T> bmm_scaled(const Session &session, const std::vector<T> &a, const std::vector<T> &b,
                     const tl_bmm_params &params, double scale) {
  const Buffer left(session, a), right(session, b);
  tl_storage *out = nullptr;
  uint32_t replay = 7;
  require_ok(backend().matmul->bmm_scaled(session.get(), left.operand(), right.operand(), &params,
                                          scale, 0, &out, &replay));
  return {Buffer(session, out, params.batch * params.m * params.p, dtype_of<T>, sizeof(T))
              .template values<T>(),
          replay};
}

// Elements that miss scale * a * b by more than (factor * n + extra) * eps * |scale| * sum |a||b|.
template <class T>
size_t misses(const std::vector<T> &got, const std::vector<T> &a, const std::vector<T> &b,
              const tl_bmm_params &s, long double scale = 1, long double extra = 0) {
  size_t wrong = 0;
  for (uint64_t i = 0; i < s.batch; ++i)
    for (uint64_t row = 0; row < s.m; ++row)
      for (uint64_t col = 0; col < s.p; ++col) {
        long double sum = 0, magnitude = 0;
        for (uint64_t k = 0; k < s.n; ++k) {
          const T x = a[i * s.m * s.n + (s.transpose_a ? k * s.m + row : row * s.n + k)];
          const T y = b[i * s.n * s.p + (s.transpose_b ? col * s.n + k : k * s.p + col)];
          const long double term = static_cast<long double>(x) * y;
          sum += term;
          magnitude += std::fabs(term);
        }
        const long double bound =
            (2.0L * s.n + extra) * std::numeric_limits<T>::epsilon() * std::fabs(scale) *
                magnitude +
            s.n * static_cast<long double>(std::numeric_limits<T>::denorm_min());
        wrong += !(std::fabs(got[(i * s.m + row) * s.p + col] - scale * sum) <= bound);
      }
  return wrong;
}

template <class T>
void check_products(bool deterministic) {
  const Session session(deterministic);
  for (const auto &[batch, m, n, p] : {std::array<uint64_t, 4>{1, 1, 1, 1},
                                       {1, 3, 5, 2},
                                       {3, 17, 33, 18},
                                       {2, 64, 300, 65},
                                       {1, 1, 5000, 1},
                                       {5, 4, 16, 16},
                                       {1, 130, 7, 1},
                                       {1, 1, 9, 200}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const auto a = uniform_values<T>(batch * m * n, 1, -1, 1);
        const auto b = uniform_values<T>(batch * n * p, 2, -1, 1);
        const auto s = shape(batch, m, n, p, ta, tb);
        CHECK(misses(bmm(session, a, b, s), a, b, s) == 0);
      }
  const auto zeros = bmm(session, std::vector<T>{}, std::vector<T>{}, shape(2, 3, 0, 4));
  CHECK(same_bits(zeros, std::vector<T>(24)));
  const T inf = std::numeric_limits<T>::infinity();
  const auto mixed =
      bmm(session, std::vector<T>{inf, 1, 2, 3}, std::vector<T>{1, 1}, shape(1, 2, 2, 1));
  CHECK(mixed[0] == inf);
  CHECK(mixed[1] == 5);
}

template <class T>
void check_scaled() {
  using Limits = std::numeric_limits<T>;
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    const auto s = shape(2, 9, 40, 7, false, true);
    const auto a = uniform_values<T>(2 * 9 * 40, 3, T(0.1), 1),
               b = uniform_values<T>(2 * 40 * 7, 4, -1, T(-0.1));
    for (const double scale : {1.0, 0.125, -0.3, 1e-9, 3.7, -1e5}) {
      const auto result = bmm_scaled(session, a, b, s, scale);
      CHECK(result.replay == 0);
      CHECK(misses(result.values, a, b, s, scale, 2) == 0);
    }
    const auto one = shape(1, 1, 2, 1);
    const auto flag = [&](std::vector<T> x, std::vector<T> y, double scale) {
      return bmm_scaled(session, x, y, one, scale).replay;
    };
    // A product that overflows before it is scaled comes out finite.
    const T big = std::sqrt(Limits::max());
    const auto scaled =
        bmm_scaled(session, std::vector<T>{4 * big, 1}, std::vector<T>{4 * big, 1}, one, 0.01);
    CHECK(scaled.replay == 0);
    CHECK(std::isfinite(scaled.values[0]));
    CHECK(flag({Limits::infinity(), 1}, {1, 1}, 0.5) == 1);
    CHECK(flag({1, 1}, {Limits::quiet_NaN(), 1}, 2) == 1);
    CHECK(flag({1, 1}, {1, 1}, std::numeric_limits<double>::quiet_NaN()) == 1);
    CHECK(flag({1, 1}, {1, 1}, std::numeric_limits<double>::infinity()) == 1);
    CHECK(flag({1, 1}, {1, 1}, 0) == 1);                  // operands vanish
    CHECK(flag({Limits::max(), 1}, {4, 1}, 1) == 1);      // overflow
    CHECK(flag({Limits::max() / 4, 1}, {1, 1}, 8) == 1);  // overflow afterwards
    CHECK(flag({Limits::min(), 1}, {1, 1}, 0.25) == 1);   // an operand gets subnormal
    CHECK(flag({std::sqrt(Limits::min()) / 2, 1}, {std::sqrt(Limits::min()) / 2, 1}, 1) == 1);
    CHECK(flag({1, 1}, {1, -1}, 1) == 1);   // cancelled to zero
    CHECK(flag({0, 1}, {5, 1}, 0.5) == 0);  // zeros lose nothing
    CHECK(flag({0, 0}, {5, 1}, 0.5) == 0);
    CHECK(flag({0, 0}, {0, 0}, 0) == 0);
    CHECK(bmm_scaled(session, std::vector<T>{}, std::vector<T>{}, shape(1, 2, 0, 2), 0.5).replay ==
          0);
  }
  // A root that is subnormal in float32 would be too inexact even where the scaled operand is
  // normal.
  const Session session;
  if (sizeof(T) == 4)
    CHECK(bmm_scaled(session, std::vector<T>{Limits::max()}, std::vector<T>{Limits::max()},
                     shape(1, 1, 1, 1), 1e-84)
              .replay == 1);
}

}  // namespace

TEST_CASE("products stay within their bound, transposed or not, in either mode") {
  for (const bool deterministic : {false, true}) {
    check_products<float>(deterministic);
    check_products<double>(deterministic);
  }
}

TEST_CASE("deterministic products do not depend on the number of threads") {
  const auto a = uniform_values<float>(2 * 70 * 4'100, 5, -1, 1);
  const auto b = uniform_values<float>(2 * 4'100 * 33, 6, -1, 1);
  const auto s = shape(2, 70, 4'100, 33, true, false);
  std::vector<float> first;
  for (const uint32_t threads : {1u, 2u, 3u, 5u}) {
    const Session session(true, threads);
    const auto y = bmm(session, a, b, s);
    if (first.empty()) first = y;
    CHECK(same_bits(y, first));
  }
}

TEST_CASE("a call repeats its bits") {
  const Session session;
  const auto a = uniform_values<double>(300 * 300, 7, -1, 1),
             b = uniform_values<double>(300 * 300, 8, -1, 1);
  const auto y = bmm(session, a, b, shape(1, 300, 300, 300));
  for (int i = 0; i < 3; ++i) CHECK(same_bits(bmm(session, a, b, shape(1, 300, 300, 300)), y));
}

TEST_CASE("scaled products keep the promise of their flag") {
  check_scaled<float>();
  check_scaled<double>();
}

TEST_CASE("dgemm multiplies host arrays wherever they lie") {
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    const uint64_t m = 37, n = 211, p = 23;
    const auto a = uniform_values<double>(m * n, 9, -1, 1),
               b = uniform_values<double>(n * p, 10, -1, 1);
    std::vector<double> out(m * p), again(m * p);
    require_ok(backend().matmul->dgemm(session.get(), a.data(), b.data(), m, n, p, out.data()));
    CHECK(misses(out, a, b, shape(1, m, n, p)) == 0);
    std::vector<double> shifted(m * n + 1);
    std::copy(a.begin(), a.end(), shifted.begin() + 1);
    require_ok(backend().matmul->dgemm(session.get(), shifted.data() + 1, b.data(), m, n, p,
                                       again.data()));
    CHECK(same_bits(out, again));
    std::vector<double> zeros(6, 1);
    require_ok(backend().matmul->dgemm(session.get(), nullptr, nullptr, 2, 0, 3, zeros.data()));
    CHECK(same_bits(zeros, std::vector<double>(6)));
  }
}

TEST_CASE("an operand that does not fit comes back as a status with ATen's own words") {
  const Session session;
  const Buffer a(session, std::vector<float>(5)), b(session, std::vector<float>(12));
  const Buffer wide(session, std::vector<double>(12));
  const auto s = shape(1, 2, 3, 4);
  tl_storage *out = nullptr;
  CHECK(backend().matmul->bmm(session.get(), a.operand(), b.operand(), &s, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "bmm: a: shape '[1, 2, 3]' is invalid for input of size 5");
  CHECK(fake_host::debug_line().find("is invalid for input of size 5\n") != std::string::npos);
  CHECK(backend().matmul->bmm(session.get(), b.operand(), wide.operand(), &s, 0, &out) ==
        TL_INVALID_ARGUMENT);
  auto wrong = s;
  wrong.transpose_a = 2;
  CHECK(backend().matmul->bmm(session.get(), b.operand(), b.operand(), &wrong, 0, &out) != TL_OK);
  wrong = s;
  wrong.struct_size = 8;
  CHECK(backend().matmul->bmm(session.get(), b.operand(), b.operand(), &wrong, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(out == nullptr);
}
