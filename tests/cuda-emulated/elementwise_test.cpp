// Elementwise operations and the optimizer step of cuda-emulated against the specification's
// formulas, written here once more in plain C++ (compiled without contraction), under several
// schedules.
#include "elementary.cuh"
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace elementary = torchlean::cuda::elementary;

namespace {

const std::vector<std::string> schedules = {"", "1", "2", "18446744073709551615"};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
bool same_bits(T a, T b) {
  return std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b);
}

// Any NaN matches any NaN.
template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || same_bits(a, b);
}

// max, min and clamp may return either zero.
template <class T>
bool same_but_for_zero_signs(T a, T b) {
  return same(a, b) || (a == 0 && b == 0);
}

// fmax and fmin as the specification has them. (The C library's make NaN of a signalling NaN.)
template <class T>
T larger(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) || a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) || a < b ? a : b;
}

// Every special value against every other, then any bit patterns: three arrays of one length, which
// is no multiple of a block and more than one stride of the emulated grid.
template <class T>
struct Samples {
  std::vector<T> x, y, z;

  Samples() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> specials = {T(0),
                               T(1),
                               T(0.5),
                               T(3),
                               T(1.5),
                               Limits::min(),
                               Limits::denorm_min(),
                               Limits::max(),
                               Limits::infinity(),
                               Limits::quiet_NaN(),
                               T(0.1),
                               T(20),
                               T(100),
                               T(0.7978845608028654)};
    for (size_t i = 0, n = specials.size(); i < n; ++i) {
      specials.push_back(-specials[i]);
    }
    for (const T a : specials) {
      for (const T b : specials) {
        x.push_back(a);
        y.push_back(b);
        z.push_back(specials[(x.size() * 7) % specials.size()]);
      }
    }
    std::mt19937_64 random(7);
    std::normal_distribution<double> moderate(0, 3);
    while (x.size() < 33011) {
      for (std::vector<T> *values : {&x, &y, &z}) {
        const uint64_t bits = random();
        T any;
        std::memcpy(&any, &bits, sizeof any);
        values->push_back(x.size() % 2 == 0 ? any : static_cast<T>(moderate(random)));
      }
      if (x.size() % 5 == 0) {
        y.back() = x.back();  // ties
      }
    }
  }
};

template <class T>
const Samples<T> &samples() {
  static const Samples<T> all;
  return all;
}

tl_scalars scalars_of(double first, double second) { return {sizeof(tl_scalars), {first, second}}; }

template <class T>
using Unary = std::function<T(T)>;
template <class T>
using Binary = std::function<T(T, T)>;

template <class T>
void check_unary(tl_unary_op op, const std::string &name, const Unary<T> &expected,
                 double first = 0, double second = 0, bool zero_signs = true) {
  const std::vector<T> &x = samples<T>().x;
  const tl_scalars scalars = scalars_of(first, second);
  for (const std::string &schedule : schedules) {
    const Session session(schedule);
    const Buffer input(session, x);
    tl_storage *out = nullptr;
    REQUIRE(backend().elementwise->unary(session.instance(), op, input.operand(), &scalars, 0,
                                         &out) == TL_OK);
    const Buffer result(session, out, x.size(), dtype_of<T>, sizeof(T));
    const std::vector<T> y = result.values<T>();
    const std::vector<T> untouched = input.values<T>();
    CHECK(std::equal(x.begin(), x.end(), untouched.begin(), untouched.end(), same_bits<T>));
    for (size_t i = 0; i < x.size(); ++i) {
      const T want = expected(x[i]);
      if (!(zero_signs ? same(y[i], want) : same_but_for_zero_signs(y[i], want))) {
        FAIL_CHECK(name << "(" << +x[i] << ") = " << +y[i] << ", expected " << +want);
        break;
      }
    }
  }
}

template <class T>
void check_binary(tl_binary_op op, const std::string &name, const Binary<T> &expected,
                  double first = 0, double second = 0, bool zero_signs = true) {
  const std::vector<T> &a = samples<T>().x;
  const std::vector<T> &b = samples<T>().y;
  const tl_scalars scalars = scalars_of(first, second);
  for (const std::string &schedule : schedules) {
    const Session session(schedule);
    const Buffer left(session, a);
    const Buffer right(session, b);
    tl_storage *out = nullptr;
    REQUIRE(backend().elementwise->binary(session.instance(), op, left.operand(), right.operand(),
                                          &scalars, 0, &out) == TL_OK);
    const Buffer result(session, out, a.size(), dtype_of<T>, sizeof(T));
    const std::vector<T> y = result.values<T>();
    for (size_t i = 0; i < a.size(); ++i) {
      const T want = expected(a[i], b[i]);
      if (!(zero_signs ? same(y[i], want) : same_but_for_zero_signs(y[i], want))) {
        FAIL_CHECK(name << "(" << +a[i] << ", " << +b[i] << ") = " << +y[i] << ", expected "
                        << +want);
        break;
      }
    }
  }
}

template <class T>
T gelu_tanh(T x) {
  const T s = static_cast<T>(0.7978845608028654);
  const T c = static_cast<T>(0.044715);
  const T cube = ((c * x) * x) * x;
  return elementary::tanh(static_cast<T>(s * (x + cube)));
}

}  // namespace

TEST_CASE_TEMPLATE("exact operations of one operand have the formula's bits", T, float, double) {
  check_unary<T>(TL_UNARY_ABS, "abs", [](T x) { return std::fabs(x); });
  check_unary<T>(TL_UNARY_NEG, "neg", [](T x) { return -x; });
  check_unary<T>(TL_UNARY_FLOOR, "floor", [](T x) { return std::floor(x); });
  check_unary<T>(TL_UNARY_SQRT, "sqrt", [](T x) { return x <= 0 ? T(0) : std::sqrt(x); });
  check_unary<T>(TL_UNARY_INV, "inv", [](T x) { return T(1) / x; });
  check_unary<T>(TL_UNARY_RELU, "relu", [](T x) { return x > 0 ? x : T(0); });
  const T factor = static_cast<T>(0.1);
  check_unary<T>(
      TL_UNARY_SCALE, "scale", [&](T x) { return x * factor; }, double{factor});
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto &[low, high] : std::vector<std::pair<double, double>>{
           {-1, 2}, {0, 0}, {2, -1}, {-inf, 1}, {std::nan(""), 1}, {-1, std::nan("")}}) {
    const T lo = static_cast<T>(low);
    const T hi = static_cast<T>(high);
    check_unary<T>(
        TL_UNARY_CLAMP, "clamp", [&](T x) { return smaller(larger(x, lo), hi); }, low, high, false);
  }
}

TEST_CASE_TEMPLATE("exact operations of two operands have the formula's bits", T, float, double) {
  check_binary<T>(TL_BINARY_ADD, "add", [](T a, T b) { return a + b; });
  check_binary<T>(TL_BINARY_SUB, "sub", [](T a, T b) { return a - b; });
  check_binary<T>(TL_BINARY_MUL, "mul", [](T a, T b) { return a * b; });
  check_binary<T>(TL_BINARY_DIV, "div", [](T a, T b) { return a / b; });
  check_binary<T>(
      TL_BINARY_MAX, "max", [](T a, T b) { return larger(a, b); }, 0, 0, false);
  check_binary<T>(
      TL_BINARY_MIN, "min", [](T a, T b) { return smaller(a, b); }, 0, 0, false);
  check_binary<T>(TL_BINARY_MASK, "mask", [](T v, T a) { return a == 0 ? T(0) : v; });
  check_binary<T>(TL_BINARY_ABS_BWD, "abs_bwd", [](T x, T g) {
    const T sign = std::isnan(x) || x == 0 ? T(0) : std::copysign(T(1), x);
    return sign * g;
  });
  check_binary<T>(TL_BINARY_SQRT_BWD, "sqrt_bwd",
                  [](T x, T g) { return x > 0 ? g * (T(1) / (T(2) * std::sqrt(x))) : T(0); });
  check_binary<T>(TL_BINARY_RELU_BWD, "relu_bwd", [](T x, T g) { return x > 0 ? g : T(0); });
  check_binary<T>(
      TL_BINARY_CLAMP_BWD, "clamp_bwd",
      [](T x, T g) { return x > T(-0.5) && x < T(1.5) ? g : T(0); }, -0.5, 1.5);
  const T factor = static_cast<T>(0.1);
  check_binary<T>(
      TL_BINARY_AXPY, "axpy", [&](T a, T b) { return std::fma(b, factor, a); }, double{factor});
}

TEST_CASE_TEMPLATE("elementary operations are those of elementary.cuh", T, float, double) {
  check_unary<T>(TL_UNARY_EXP, "exp", [](T x) { return elementary::exp(x); });
  check_unary<T>(TL_UNARY_LOG, "log", [](T x) { return elementary::log(x); });
  check_unary<T>(TL_UNARY_LOG1P, "log1p", [](T x) { return elementary::log1p(x); });
  check_unary<T>(TL_UNARY_SIN, "sin", [](T x) { return elementary::sin(x); });
  check_unary<T>(TL_UNARY_COS, "cos", [](T x) { return elementary::cos(x); });
  check_unary<T>(TL_UNARY_TANH, "tanh", [](T x) { return elementary::tanh(x); });
}

TEST_CASE_TEMPLATE("staged operations round each step as written", T, float, double) {
  check_unary<T>(TL_UNARY_SIGMOID, "sigmoid",
                 [](T x) { return T(1) / (T(1) + elementary::exp(static_cast<T>(-x))); });
  check_unary<T>(TL_UNARY_GELU, "gelu", [](T x) { return (x * (gelu_tanh(x) + T(1))) * T(0.5); });
  check_binary<T>(TL_BINARY_GELU_BWD, "gelu_bwd", [](T x, T g) {
    const T t = gelu_tanh(x);
    const T h = T(1) - t * t;
    const T d = ((static_cast<T>(0.134145) * x) * x + T(1)) * static_cast<T>(0.7978845608028654);
    const T r = ((t + T(1)) + (x * h) * d) * T(0.5);
    return r * g;
  });
  const T factor = static_cast<T>(0.1);
  check_binary<T>(
      TL_BINARY_SCALED_PROD_EXP, "scaled_prod_exp",
      [&](T x, T y) { return elementary::exp(static_cast<T>((x * factor) * y)); }, double{factor});
}

TEST_CASE_TEMPLATE("sigmoid is exactly 0 and 1 at its ends and 1/2 at 0", T, float, double) {
  const Session session;
  const Buffer input(session, std::vector<T>{T(-800), T(800), T(0), T(-0.0)});
  const tl_scalars scalars = scalars_of(0, 0);
  tl_storage *out = nullptr;
  REQUIRE(backend().elementwise->unary(session.instance(), TL_UNARY_SIGMOID, input.operand(),
                                       &scalars, 0, &out) == TL_OK);
  const Buffer result(session, out, 4, dtype_of<T>, sizeof(T));
  CHECK(result.values<T>() == std::vector<T>{T(0), T(1), T(0.5), T(0.5)});
}

TEST_CASE_TEMPLATE("a selection's gradient goes to the winner, halved on ties", T, float, double) {
  const Samples<T> &s = samples<T>();
  for (const tl_select_bwd_op op : {TL_SELECT_MAX_BWD, TL_SELECT_MIN_BWD}) {
    for (const std::string &schedule : schedules) {
      const Session session(schedule);
      const Buffer a(session, s.x);
      const Buffer b(session, s.y);
      const Buffer g(session, s.z);
      tl_storage *out[2] = {nullptr, nullptr};
      REQUIRE(backend().elementwise->select_bwd(session.instance(), op, a.operand(), b.operand(),
                                                g.operand(), 0, out) == TL_OK);
      const Buffer first(session, out[0], s.x.size(), dtype_of<T>, sizeof(T));
      const Buffer second(session, out[1], s.x.size(), dtype_of<T>, sizeof(T));
      const std::vector<T> d_a = first.values<T>();
      const std::vector<T> d_b = second.values<T>();
      size_t wrong = 0;
      for (size_t i = 0; i < s.x.size(); ++i) {
        const bool max = op == TL_SELECT_MAX_BWD;
        const bool a_wins = max ? s.x[i] > s.y[i] : s.x[i] < s.y[i];
        const bool b_wins = max ? s.y[i] > s.x[i] : s.y[i] < s.x[i];
        const T half = T(0.5) * s.z[i];
        wrong += same(d_a[i], a_wins ? s.z[i] : b_wins ? T(0) : half) ? 0 : 1;
        wrong += same(d_b[i], b_wins ? s.z[i] : a_wins ? T(0) : half) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE_TEMPLATE("adam_step has the formula's bits", T, float, double) {
  const Samples<T> &s = samples<T>();
  std::vector<T> v = s.x;
  std::rotate(v.begin(), v.begin() + 1000, v.end());
  const auto rounded = [](double value) { return static_cast<T>(value); };
  const T beta1 = rounded(0.9), rest1 = rounded(0.1), beta2 = rounded(0.999),
          rest2 = rounded(0.001);
  const T corr1 = rounded(1 / 0.271), corr2 = rounded(1 / 0.002997), epsilon = rounded(1e-8);
  const T decay = rounded(-1e-5), update_scale = rounded(-1e-3);
  const tl_adam_params params = {sizeof(tl_adam_params),
                                 beta1,
                                 rest1,
                                 beta2,
                                 rest2,
                                 corr1,
                                 corr2,
                                 epsilon,
                                 decay,
                                 update_scale};
  for (const std::string &schedule : schedules) {
    const Session session(schedule);
    const Buffer p(session, s.x);
    const Buffer g(session, s.y);
    const Buffer m(session, s.z);
    const Buffer v_buffer(session, v);
    tl_storage *out[3] = {nullptr, nullptr, nullptr};
    REQUIRE(backend().optimizer->adam_step(session.instance(), p.operand(), g.operand(),
                                           m.operand(), v_buffer.operand(), &params, 0,
                                           out) == TL_OK);
    const Buffer new_p(session, out[0], v.size(), dtype_of<T>, sizeof(T));
    const Buffer new_m(session, out[1], v.size(), dtype_of<T>, sizeof(T));
    const Buffer new_v(session, out[2], v.size(), dtype_of<T>, sizeof(T));
    const std::vector<T> ps = new_p.values<T>(), ms = new_m.values<T>(), vs = new_v.values<T>();
    size_t wrong = 0;
    size_t proving = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      const T first = std::fma(s.y[i], rest1, s.z[i] * beta1);
      const T second = std::fma(s.y[i] * s.y[i], rest2, v[i] * beta2);
      const T u = (first * corr1) / (std::sqrt(second * corr2) + epsilon);
      const T next = std::fma(u, update_scale, std::fma(s.x[i], decay, s.x[i]));
      wrong += same(ps[i], next) && same(ms[i], first) && same(vs[i], second) ? 0 : 1;
      proving += std::isfinite(next) && next != s.x[i] ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(proving > 1000);
  }
}
