// Scans whose time is cut into chunks: where the recurrence must decide, it does, bit for bit.
#include "fake_host.hpp"
#include "support/oracle.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr std::size_t time_steps = 401;  // long enough to be cut
constexpr std::size_t states = 3;        // few enough

// Multiples of 1/64 between -2 and 2, never 0.
std::vector<float> numbers(std::size_t count, std::size_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto k = static_cast<int>((i * 37 + seed * 101) % 256) - 128;
    values[i] = static_cast<float>(k == 0 ? 1 : k) / 64;
  }
  return values;
}

// A scan with constant coefficients.
struct Scan {
  std::vector<float> a = {0.5f, -0.75f, 0.875f};
  std::vector<float> b = numbers(states, 1);
  std::vector<float> x = numbers(time_steps * states, 2);
  std::vector<float> h0 = numbers(states, 3);
  std::vector<float> h = numbers(time_steps * states, 4);  // what a gradient is given
  std::vector<float> d_y = numbers(time_steps * states, 5);
};

// h = round(round(a h) + round(b x))
std::vector<float> recurrence(const Scan &scan) {
  std::vector<float> h(time_steps * states);
  for (std::size_t i = 0; i < h.size(); ++i) {
    const std::size_t j = i % states;
    const float kept = scan.a[j] * (i < states ? scan.h0[j] : h[i - states]);
    const float added = scan.b[j] * scan.x[i];
    h[i] = kept + added;
  }
  return h;
}

std::vector<float> computed(const Session &session, const Scan &scan) {
  const Buffer a(session, scan.a), b(session, scan.b), x(session, scan.x), h0(session, scan.h0);
  tl_storage *out = nullptr;
  REQUIRE(backend().scan->forward(session.instance(), TL_SCAN_CONSTANT, a.operand(), b.operand(),
                                  x.operand(), h0.operand(), time_steps, states, 0, &out) == TL_OK);
  return Buffer(session, out, scan.x.size(), TL_FLOAT32, sizeof(float)).values<float>();
}

struct Gradients {
  std::vector<float> a = std::vector<float>(states);
  std::vector<float> b = std::vector<float>(states);
  std::vector<float> x = std::vector<float>(time_steps * states);
  std::vector<float> h0 = std::vector<float>(states);
};

// g[t] = dY[t] + a g[t + 1], every product and every sum rounded; dA and dB from +0 in reverse time
Gradients recurrence_backwards(const Scan &scan) {
  Gradients d;
  for (std::size_t j = 0; j < states; ++j) {
    float from_later = 0;
    for (std::size_t t = time_steps; t-- > 0;) {
      const std::size_t i = t * states + j;
      const float g = t + 1 == time_steps ? scan.d_y[i] : scan.d_y[i] + from_later;
      const float of_a = g * (t == 0 ? scan.h0[j] : scan.h[i - states]);
      const float of_b = g * scan.x[i];
      d.a[j] = d.a[j] + of_a;
      d.b[j] = d.b[j] + of_b;
      d.x[i] = g * scan.b[j];
      from_later = scan.a[j] * g;
    }
    d.h0[j] = from_later;
  }
  return d;
}

Gradients computed_backwards(const Session &session, const Scan &scan) {
  const Buffer a(session, scan.a), b(session, scan.b), x(session, scan.x), h0(session, scan.h0);
  const Buffer h(session, scan.h), d_y(session, scan.d_y);
  tl_storage *out[4] = {};
  REQUIRE(backend().scan->backward(session.instance(), TL_SCAN_CONSTANT, a.operand(), b.operand(),
                                   x.operand(), h0.operand(), h.operand(), d_y.operand(),
                                   time_steps, states, 0, out) == TL_OK);
  const auto values = [&](std::size_t k, std::size_t count) {
    return Buffer(session, out[k], count, TL_FLOAT32, sizeof(float)).values<float>();
  };
  return {values(0, states), values(1, states), values(2, scan.x.size()), values(3, states)};
}

// The elements of one state: the same bits, or both NaN.
void check_state(std::size_t state, const std::vector<float> &got, const std::vector<float> &want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = state; i < got.size(); i += states) {
    INFO("element " << i);
    const bool is_same = std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(want[i]);
    CHECK((is_same || (std::isnan(got[i]) && std::isnan(want[i]))));
  }
}

void check_forward(std::size_t state, const Session &session, const Scan &scan) {
  check_state(state, computed(session, scan), recurrence(scan));
}

void check_backward(std::size_t state, const Session &session, const Scan &scan) {
  const Gradients got = computed_backwards(session, scan);
  const Gradients want = recurrence_backwards(scan);
  check_state(state, got.a, want.a);
  check_state(state, got.b, want.b);
  check_state(state, got.x, want.x);
  check_state(state, got.h0, want.h0);
}

void check_both(std::size_t state, const Session &session, const Scan &scan) {
  check_forward(state, session, scan);
  check_backward(state, session, scan);
}

using torchlean::test::infinity, torchlean::test::quiet_nan;

}  // namespace

TEST_CASE("a coefficient just above 1 leaves a state to the recurrence") {
  const Session session("3");
  Scan scan;
  scan.a[1] = -std::nextafter(1.0f, 2.0f);
  check_both(1, session, scan);
}

TEST_CASE("a nonfinite input leaves its state to the recurrence") {
  const Session session("4");
  for (const std::size_t place :
       {std::size_t{7}, 200 * states + 1, (time_steps - 2) * states + 1}) {
    for (const float value : {infinity<float>, quiet_nan<float>}) {
      for (std::vector<float> Scan::*const which : {&Scan::x, &Scan::h, &Scan::d_y}) {
        Scan scan;
        (scan.*which)[place] = value;
        if (which == &Scan::x) check_forward(place % states, session, scan);
        check_backward(place % states, session, scan);
      }
    }
  }
}

TEST_CASE("an infinite coefficient or start leaves its state to the recurrence") {
  const Session session;
  for (std::vector<float> Scan::*const which : {&Scan::a, &Scan::b, &Scan::h0}) {
    Scan scan;
    (scan.*which)[2] = -infinity<float>;
    check_both(2, session, scan);
  }
}

TEST_CASE("where the recurrence overflows on its way, so does the scan") {
  const Session session;
  Scan scan;
  scan.x[300] = 3e38f;  // of state 0
  scan.b[0] = 4;
  scan.d_y[300] = scan.d_y[303] = 3e38f;
  scan.a[0] = 0.5f;
  check_both(0, session, scan);
}

TEST_CASE("deterministic mode is the recurrence") {
  const Session session;
  REQUIRE(backend().device->set_setting(session.instance(), TL_SETTING_DETERMINISTIC, 1) == TL_OK);
  Scan scan;
  for (float &value : scan.x) value /= 3;  // so that roundings show
  for (std::size_t state = 0; state < states; ++state) check_both(state, session, scan);
}
