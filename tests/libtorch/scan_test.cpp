// Scans: the recurrence with every product and every sum rounded (this file is compiled without
// contraction, so that its expressions are that).
#include "operations.hpp"

#include <doctest/doctest.h>

namespace {

template <class T>
ScanInputs<T> random_scan(uint64_t time, uint64_t state, bool varying, uint64_t seed) {
  const uint64_t coefficients = varying ? time * state : state;
  return {uniform_values<T>(coefficients, seed, T(-1.5), T(1.5)),
          uniform_values<T>(coefficients, seed + 1, T(-2), T(2)),
          uniform_values<T>(time * state, seed + 2, T(-2), T(2)),
          uniform_values<T>(state, seed + 3, T(-2), T(2))};
}

template <class T>
Values<T> expected_states(const ScanInputs<T> &s) {
  const size_t state = s.h0.size();
  Values<T> h;
  for (size_t i = 0; i < s.x.size(); ++i) {
    const size_t c = s.varying() ? i : i % state;
    const T previous = i < state ? s.h0[i] : h[i - state];
    h.push_back(s.a[c] * previous + s.b[c] * s.x[i]);
  }
  return h;
}

template <class T>
std::array<Values<T>, 4> expected_gradients(const ScanInputs<T> &s, const Values<T> &h,
                                            const Values<T> &d_y) {
  const size_t state = s.h0.size();
  std::array<Values<T>, 4> d = {Values<T>(s.a.size()), Values<T>(s.b.size()), Values<T>(s.x.size()),
                                Values<T>(state)};
  Values<T> g = d_y;
  for (size_t i = s.x.size(); i-- > 0;) {
    const size_t c = s.varying() ? i : i % state;
    const size_t later = s.varying() ? i + state : c;
    if (i + state < g.size()) g[i] = d_y[i] + s.a[later] * g[i + state];
    const T d_a = g[i] * (i < state ? s.h0[i] : h[i - state]);
    const T d_b = g[i] * s.x[i];
    d[0][c] = s.varying() ? d_a : d[0][c] + d_a;
    d[1][c] = s.varying() ? d_b : d[1][c] + d_b;
    d[2][i] = g[i] * s.b[c];
    if (i < state) d[3][i] = s.a[c] * g[i];
  }
  return d;
}

}  // namespace

TEST_CASE_TEMPLATE("a scan and its gradients are the recurrence bit for bit", T, float, double) {
  // More states than a strip has; more steps than a vector.
  for (const auto &[time, state] : {std::pair<uint64_t, uint64_t>{1, 1}, {40, 5}, {9, 700}})
    for (const bool varying : {false, true}) {
      const auto inputs = random_scan<T>(time, state, varying, 10 * time);
      const auto d_y = uniform_values<T>(time * state, 99, T(-1), T(1));
      const auto h = Operations<T>::scan({}, inputs);
      CHECK(same_bits(h, expected_states(inputs)));
      const auto expected = expected_gradients(inputs, h, d_y);
      for (const bool deterministic : {false, true}) {
        const auto got = Operations<T>::scan_bwd({deterministic}, inputs, h, d_y);
        for (size_t i = 0; i < 4; ++i) CHECK(same_bits(got[i], expected[i]));
      }
    }
}

TEST_CASE("a product of a scan is rounded before it is added") {
  const float a = 1 + 0x1p-12f;  // a * a = 1 + 2^-11 + 2^-24, which loses its last bit
  CHECK(Operations<float>::scan({}, {{a}, {-1}, {1 + 0x1p-11f}, {a}}) == std::vector<float>{0});
}

TEST_CASE("gradients of constant coefficients are added in reverse time, the last from +0") {
  const ScanInputs<float> inputs = {{0}, {1}, {1, 1, 1}, {0}};
  const auto d_b = [&](const Values<float> &d_y) {
    return Operations<float>::scan_bwd({true}, inputs, {0, 0, 0}, d_y)[1][0];
  };
  CHECK(d_b({1, 0x1p24f, -0x1p24f}) == 1);
  CHECK(d_b({-0x1p24f, 0x1p24f, 1}) == 0);
  CHECK(same(d_b({-0.0f, -0.0f, -0.0f}), 0.0f));
}

TEST_CASE("an infinite coefficient does not reach the last gradient") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto d = Operations<float>::scan_bwd({}, {{infinity}, {2}, {3}, {5}}, {0}, {7});
  CHECK(d[0][0] == 35);
  CHECK(d[1][0] == 21);
  CHECK(d[2][0] == 14);
  CHECK(d[3][0] == infinity);
}
