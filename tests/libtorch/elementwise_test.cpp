// Elementwise operations and the optimizer step: exact ones bit for bit, bounded ones against MPFR.
#include "fake_host.hpp"

#include <doctest/doctest.h>
#include <mpfr.h>

#include <algorithm>
#include <functional>

using fake_host::backend;

namespace {

tl_scalars scalars(double first = 0, double second = 0) {
  return {sizeof(tl_scalars), {first, second}};
}

template <class T>
std::vector<T> unary(const Session &session, tl_unary_op op, const std::vector<T> &x,
                     tl_scalars s = scalars()) {
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(backend().elementwise->unary(session.get(), op, operand.operand(), &s, 0, &out));
  CHECK(same_bits(operand.values<T>(), x));
  return Buffer(session, out, x.size(), dtype_of<T>, sizeof(T)).template values<T>();
}

template <class T>
std::vector<T> binary(const Session &session, tl_binary_op op, const std::vector<T> &a,
                      const std::vector<T> &b, tl_scalars s = scalars()) {
  const Buffer first(session, a);
  const Buffer second(session, b);
  tl_storage *out = nullptr;
  require_ok(backend().elementwise->binary(session.get(), op, first.operand(), second.operand(), &s,
                                           0, &out));
  CHECK(same_bits(first.values<T>(), a));
  CHECK(same_bits(second.values<T>(), b));
  return Buffer(session, out, a.size(), dtype_of<T>, sizeof(T)).template values<T>();
}

// ---- Expected values, from the specification's table --------------------------------------------

template <class T>
T flip_sign(T x, bool to_positive) {
  const Bits<T> sign = ~(~Bits<T>(0) >> 1);
  const Bits<T> bits = std::bit_cast<Bits<T>>(x);
  return std::bit_cast<T>(to_positive ? bits & ~sign : bits ^ sign);
}

template <class T>
T larger(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a < b ? b : a;
}

template <class T>
T smaller(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return b < a ? b : a;
}

template <class T>
T expected_unary(tl_unary_op op, T x, T s0, T s1) {
  switch (op) {
    case TL_UNARY_ABS: return flip_sign(x, true);
    case TL_UNARY_NEG: return flip_sign(x, false);
    case TL_UNARY_FLOOR: return std::floor(x);
    case TL_UNARY_SQRT: return x <= 0 ? T(0) : std::sqrt(x);
    case TL_UNARY_INV: return T(1) / x;
    case TL_UNARY_RELU: return x > 0 ? x : T(0);
    case TL_UNARY_SCALE: return x * s0;
    case TL_UNARY_CLAMP: return smaller(larger(x, s0), s1);
    default: return T(0);
  }
}

template <class T>
T expected_binary(tl_binary_op op, T a, T b, T s0, T s1) {
  switch (op) {
    case TL_BINARY_ADD: return a + b;
    case TL_BINARY_SUB: return a - b;
    case TL_BINARY_MUL: return a * b;
    case TL_BINARY_DIV: return a / b;
    case TL_BINARY_MAX: return larger(a, b);
    case TL_BINARY_MIN: return smaller(a, b);
    case TL_BINARY_MASK: return b == 0 ? T(0) : a;
    case TL_BINARY_ABS_BWD: return (a > 0 ? T(1) : a < 0 ? T(-1) : T(0)) * b;
    case TL_BINARY_SQRT_BWD: {
      const T twice = T(2) * std::sqrt(a);
      const T slope = T(1) / twice;
      return a > 0 ? b * slope : T(0);
    }
    case TL_BINARY_RELU_BWD: return a > 0 ? b : T(0);
    case TL_BINARY_CLAMP_BWD: return a > s0 && a < s1 ? b : T(0);
    case TL_BINARY_AXPY: return std::fma(b, s0, a);
    default: return T(0);
  }
}

// max and min may return either zero.
template <class T>
bool same_but_zero(T a, T b) {
  return same(a, b) || (a == 0 && b == 0);
}

// All pairs of special values, then random patterns, long enough for two threads.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  std::vector<T> a;
  std::vector<T> b;
  for (const T x : special_values<T>())
    for (const T y : special_values<T>()) {
      a.push_back(x);
      b.push_back(y);
    }
  const auto more = any_patterns<T>(70'001, 1);
  const auto partners = any_patterns<T>(70'001, 2);
  a.insert(a.end(), more.begin(), more.end());
  b.insert(b.end(), partners.begin(), partners.end());
  return {a, b};
}

template <class T>
void check_exact_unary(const Session &session) {
  const auto x = pairs<T>().first;
  for (const auto &[s0, s1] : {std::pair{T(-0.5), T(2)},
                               {T(3), T(-1)},
                               {T(1e30), T(1e30)},
                               {std::numeric_limits<T>::quiet_NaN(), T(1)},
                               {-std::numeric_limits<T>::infinity(), T(0)}})
    for (const tl_unary_op op : {TL_UNARY_ABS, TL_UNARY_NEG, TL_UNARY_FLOOR, TL_UNARY_SQRT,
                                 TL_UNARY_INV, TL_UNARY_RELU, TL_UNARY_SCALE, TL_UNARY_CLAMP}) {
      const auto y = unary(session, op, x, scalars(s0, s1));
      size_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const T expected = expected_unary(op, x[i], s0, s1);
        const bool bits = op == TL_UNARY_ABS || op == TL_UNARY_NEG;
        const bool right = bits ? std::bit_cast<Bits<T>>(y[i]) == std::bit_cast<Bits<T>>(expected)
                           : op == TL_UNARY_CLAMP ? same_but_zero(y[i], expected)
                                                  : same(y[i], expected);
        if (!right && wrong++ == 0)
          MESSAGE("op ", op, " x ", x[i], " got ", y[i], " expected ", expected);
      }
      CHECK_MESSAGE(wrong == 0, "op ", op, ", ", sizeof(T), " bytes");
    }
}

template <class T>
void check_exact_binary(const Session &session) {
  const auto [a, b] = pairs<T>();
  for (const auto &[s0, s1] : {std::pair{T(-0.5), T(2)}, {T(1) / 3, T(0.25)}})
    for (const tl_binary_op op :
         {TL_BINARY_ADD, TL_BINARY_SUB, TL_BINARY_MUL, TL_BINARY_DIV, TL_BINARY_MAX, TL_BINARY_MIN,
          TL_BINARY_MASK, TL_BINARY_ABS_BWD, TL_BINARY_SQRT_BWD, TL_BINARY_RELU_BWD,
          TL_BINARY_CLAMP_BWD, TL_BINARY_AXPY}) {
      const auto y = binary(session, op, a, b, scalars(s0, s1));
      size_t wrong = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        const T expected = expected_binary(op, a[i], b[i], s0, s1);
        const bool either_zero = op == TL_BINARY_MAX || op == TL_BINARY_MIN;
        if (!(either_zero ? same_but_zero(y[i], expected) : same(y[i], expected)) && wrong++ == 0)
          MESSAGE("op ", op, " a ", a[i], " b ", b[i], " got ", y[i], " expected ", expected);
      }
      CHECK_MESSAGE(wrong == 0, "op ", op, ", ", sizeof(T), " bytes");
    }
}

template <class T>
void check_select_bwd(const Session &session) {
  const auto [a, b] = pairs<T>();
  auto g = any_patterns<T>(a.size(), 3);
  const Buffer first(session, a);
  const Buffer second(session, b);
  const Buffer gradient(session, g);
  for (const tl_select_bwd_op op : {TL_SELECT_MAX_BWD, TL_SELECT_MIN_BWD}) {
    tl_storage *out[2] = {};
    require_ok(backend().elementwise->select_bwd(session.get(), op, first.operand(),
                                                 second.operand(), gradient.operand(), 0, out));
    const auto da = Buffer(session, out[0], a.size(), dtype_of<T>, sizeof(T)).template values<T>();
    const auto db = Buffer(session, out[1], a.size(), dtype_of<T>, sizeof(T)).template values<T>();
    size_t wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const bool a_first = op == TL_SELECT_MAX_BWD ? a[i] > b[i] : a[i] < b[i];
      const bool b_first = op == TL_SELECT_MAX_BWD ? a[i] < b[i] : a[i] > b[i];
      const T half = T(0.5) * g[i];
      wrong += !same(da[i], a_first ? g[i] : b_first ? T(0) : half);
      wrong += !same(db[i], b_first ? g[i] : a_first ? T(0) : half);
    }
    CHECK(wrong == 0);
  }
}

template <class T>
void check_adam(const Session &session) {
  const size_t n = 40'003;
  auto p = any_patterns<T>(n, 4), g = any_patterns<T>(n, 5), m = any_patterns<T>(n, 6),
       v = any_patterns<T>(n, 7);
  for (size_t i = n / 2; i < n; ++i) {  // ordinary numbers, too
    p[i] = T(i % 97) / 7 - 5;
    g[i] = T(i % 89) / 11 - 4;
    m[i] = T(i % 83) / 13;
    v[i] = T(i % 79) / 17;
  }
  const tl_adam_params params{sizeof(tl_adam_params),
                              T(0.9),
                              T(0.1),
                              T(0.999),
                              T(0.001),
                              T(1.9),
                              T(31.25),
                              T(1e-8),
                              T(-1e-5),
                              T(-1e-3)};
  const Buffer bp(session, p), bg(session, g), bm(session, m), bv(session, v);
  tl_storage *out[3] = {};
  require_ok(backend().optimizer->adam_step(session.get(), bp.operand(), bg.operand(), bm.operand(),
                                            bv.operand(), &params, 0, out));
  const auto p1 = Buffer(session, out[0], n, dtype_of<T>, sizeof(T)).template values<T>();
  const auto m1 = Buffer(session, out[1], n, dtype_of<T>, sizeof(T)).template values<T>();
  const auto v1 = Buffer(session, out[2], n, dtype_of<T>, sizeof(T)).template values<T>();
  size_t wrong = 0;
  for (size_t i = 0; i < n; ++i) {
    const T decayed_m = m[i] * T(params.beta1);
    const T new_m = std::fma(g[i], T(params.one_minus_beta1), decayed_m);
    const T square = g[i] * g[i];
    const T decayed_v = v[i] * T(params.beta2);
    const T new_v = std::fma(square, T(params.one_minus_beta2), decayed_v);
    const T numerator = new_m * T(params.first_correction);
    const T corrected = new_v * T(params.second_correction);
    const T denominator = std::sqrt(corrected) + T(params.epsilon);
    const T u = numerator / denominator;
    const T decayed_p = std::fma(p[i], T(params.decay), p[i]);
    const T new_p = std::fma(u, T(params.update_scale), decayed_p);
    wrong += !same(p1[i], new_p) || !same(m1[i], new_m) || !same(v1[i], new_v);
  }
  CHECK(wrong == 0);
}

// ---- Bounded functions --------------------------------------------------------------------------

using MpfrFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

int mpfr_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_neg(y, x, rounding);
  mpfr_exp(y, y, rounding);
  mpfr_add_ui(y, y, 1, rounding);
  return mpfr_ui_div(y, 1, y, rounding);
}

template <class T>
T rounded(MpfrFunction function, T x) {
  mpfr_t y;
  mpfr_init2(y, 256);
  mpfr_set_d(y, static_cast<double>(x), MPFR_RNDN);
  function(y, y, MPFR_RNDN);
  T result;
  if constexpr (sizeof(T) == 4)
    result = mpfr_get_flt(y, MPFR_RNDN);
  else
    result = mpfr_get_d(y, MPFR_RNDN);
  mpfr_clear(y);
  return result;
}

// Steps between neighbouring numbers; a NaN or the wrong sign of zero is infinitely far.
template <class T>
double ulp_distance(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
  const auto position = [](T x) {
    const Bits<T> bits = std::bit_cast<Bits<T>>(x);
    const Bits<T> magnitude = bits & (~Bits<T>(0) >> 1);
    return bits == magnitude ? static_cast<double>(magnitude) : -static_cast<double>(magnitude);
  };
  if (std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b)) return 0;
  if (a == 0 && b == 0) return std::numeric_limits<double>::infinity();
  // Magnitudes lose their last bits as doubles, but not where two of them are close.
  const Bits<T> x = std::bit_cast<Bits<T>>(a), y = std::bit_cast<Bits<T>>(b);
  if (std::signbit(a) == std::signbit(b)) return static_cast<double>(x > y ? x - y : y - x);
  return std::fabs(position(a) - position(b));
}

template <class T>
std::vector<T> arguments_of_all_sizes() {
  std::vector<T> x = special_values<T>();
  const auto add = [&](const std::vector<T> &more) { x.insert(x.end(), more.begin(), more.end()); };
  add(any_patterns<T>(12'000, 11));
  add(uniform_values<T>(6'000, 12, -1, 1));
  add(uniform_values<T>(6'000, 13, -20, 20));
  add(uniform_values<T>(6'000, 14, sizeof(T) == 4 ? -110 : -760, sizeof(T) == 4 ? 90 : 712));
  for (int i = 0; i < 4'000; ++i) {  // subnormal and barely normal
    const Bits<T> step = (std::bit_cast<Bits<T>>(std::numeric_limits<T>::min()) / 2'000) | 1;
    const T tiny = std::bit_cast<T>(static_cast<Bits<T>>(step * static_cast<Bits<T>>(i + 1)));
    x.push_back(i % 2 == 0 ? tiny : -tiny);
  }
  return x;
}

template <class T>
void check_bounded(const Session &session) {
  struct Row {
    tl_unary_op op;
    MpfrFunction function;
    double bound;
  };
  const auto x = arguments_of_all_sizes<T>();
  for (const Row &row : {Row{TL_UNARY_EXP, mpfr_exp, 2}, Row{TL_UNARY_LOG, mpfr_log, 2},
                         Row{TL_UNARY_LOG1P, mpfr_log1p, 2}, Row{TL_UNARY_SIN, mpfr_sin, 2},
                         Row{TL_UNARY_COS, mpfr_cos, 2}, Row{TL_UNARY_TANH, mpfr_tanh, 2},
                         Row{TL_UNARY_SIGMOID, mpfr_sigmoid, 8}}) {
    const auto y = unary(session, row.op, x);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      T expected = rounded(row.function, x[i]);
      if (row.op == TL_UNARY_SIGMOID && std::isinf(rounded(mpfr_exp, -x[i]))) expected = T(0);
      if (row.op == TL_UNARY_LOG && x[i] == 0) expected = -std::numeric_limits<T>::infinity();
      const double distance = ulp_distance(y[i], expected);
      if (distance > worst) {
        worst = distance;
        at = i;
      }
    }
    CHECK_MESSAGE(worst <= row.bound, "op ", row.op, " at ", x[at], " got ", y[at], ": ", worst,
                  " ulp, ", sizeof(T), " bytes");
  }
}

// In long double with the float types' constants; the error of its tanh is far below the bounds.
template <class T>
void check_gelu(const Session &session) {
  auto x = uniform_values<T>(20'000, 21, -12, 12);
  const auto small = uniform_values<T>(2'000, 22, T(-1e-3), T(1e-3));
  x.insert(x.end(), small.begin(), small.end());
  const auto g = uniform_values<T>(x.size(), 23, -3, 3);
  const auto y = unary(session, TL_UNARY_GELU, x);
  const auto dx = binary(session, TL_BINARY_GELU_BWD, x, g);
  const long double s = T(0.7978845608028654), c = T(0.044715), c3 = T(0.134145);
  const long double eps = std::numeric_limits<T>::epsilon();
  const long double floor = 64.0L * std::numeric_limits<T>::denorm_min();
  size_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double v = x[i], dy = g[i];
    const long double t = std::tanh(s * (v + c * v * v * v));
    const long double d = (c3 * v * v + 1) * s;
    const long double gelu = v * (t + 1) / 2;
    const long double slope = ((t + 1) + v * (1 - t * t) * d) / 2;
    wrong += std::fabs(y[i] - gelu) > 2 * std::fabs(v) * eps + floor;
    wrong += std::fabs(dx[i] - slope * dy) >
             8 * eps * (1 + std::fabs(v) * (1 + std::fabs(d))) * std::fabs(dy) + floor;
  }
  CHECK(wrong == 0);
  // Overflow as the stages are written.
  const T max = std::numeric_limits<T>::max(), inf = std::numeric_limits<T>::infinity();
  const auto ends = unary(session, TL_UNARY_GELU, std::vector<T>{max, -max, inf, -inf, T(-0.0)});
  CHECK(ends[0] == inf);
  CHECK(ends[1] == 0);
  CHECK(ends[2] == inf);
  CHECK(std::isnan(ends[3]));
  CHECK(ends[4] == 0);
  CHECK(std::isnan(binary(session, TL_BINARY_GELU_BWD, std::vector<T>{max}, std::vector<T>{1})[0]));
}

template <class T>
void check_scaled_prod_exp(const Session &session) {
  const auto a = uniform_values<T>(20'000, 31, -9, 9), b = uniform_values<T>(20'000, 32, -9, 9);
  const T factor = T(0.7);
  const auto y = binary(session, TL_BINARY_SCALED_PROD_EXP, a, b, scalars(factor));
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const T first = a[i] * factor;
    const T second = first * b[i];
    worst = std::max(worst, ulp_distance(y[i], rounded(mpfr_exp, second)));
  }
  CHECK(worst <= 2);
}

// The value at every place of arrays of every short length, among equal and among other neighbours.
template <class T>
void check_place_independence(const Session &session) {
  std::vector<T> x = special_values<T>();
  const auto more = uniform_values<T>(60, 41, -100, 100);
  x.insert(x.end(), more.begin(), more.end());
  size_t differing = 0;
  for (tl_unary_op op = 0; op < TL_UNARY_OP_COUNT; ++op) {
    std::vector<T> alone;
    alone.reserve(x.size());
    for (const T v : x) alone.push_back(unary(session, op, std::vector<T>{v}, scalars(2, 3))[0]);
    for (size_t length = 1; length <= 40; ++length)
      for (size_t start = 0; start < x.size(); start += 7) {
        std::vector<T> some;
        for (size_t i = 0; i < length; ++i) some.push_back(x[(start + i) % x.size()]);
        const auto y = unary(session, op, some, scalars(2, 3));
        for (size_t i = 0; i < length; ++i) differing += !same(y[i], alone[(start + i) % x.size()]);
      }
  }
  for (tl_binary_op op = 0; op < TL_BINARY_OP_COUNT; ++op) {
    std::vector<T> alone;
    alone.reserve(x.size());
    for (const T v : x)
      alone.push_back(
          binary(session, op, std::vector<T>{v}, std::vector<T>{T(1.7)}, scalars(2, 3))[0]);
    for (size_t length = 1; length <= 40; length += 3) {
      std::vector<T> some;
      for (size_t i = 0; i < length; ++i) some.push_back(x[(5 * length + i) % x.size()]);
      const auto y = binary(session, op, some, std::vector<T>(length, T(1.7)), scalars(2, 3));
      for (size_t i = 0; i < length; ++i)
        differing += !same(y[i], alone[(5 * length + i) % x.size()]);
    }
  }
  CHECK(differing == 0);
}

}  // namespace

TEST_CASE("exact elementwise operations give the specified bits in either mode") {
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    check_exact_unary<float>(session);
    check_exact_unary<double>(session);
    check_exact_binary<float>(session);
    check_exact_binary<double>(session);
    check_select_bwd<float>(session);
    check_select_bwd<double>(session);
    check_adam<float>(session);
    check_adam<double>(session);
  }
}

TEST_CASE("bounded functions stay within their bounds in either mode") {
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    check_bounded<float>(session);
    check_bounded<double>(session);
    check_scaled_prod_exp<float>(session);
    check_scaled_prod_exp<double>(session);
    check_gelu<float>(session);
    check_gelu<double>(session);
  }
}

TEST_CASE("in deterministic mode a value does not depend on its place") {
  const Session session(true);
  check_place_independence<float>(session);
  check_place_independence<double>(session);
}

TEST_CASE("operands of unequal size and unknown enumerators are refused") {
  const Session session;
  const Buffer one(session, std::vector<float>{1});
  const Buffer two(session, std::vector<float>{1, 2});
  const Buffer wide(session, std::vector<double>{1, 2});
  const tl_scalars s = scalars();
  tl_storage *out = nullptr;
  CHECK(backend().elementwise->binary(session.get(), TL_BINARY_ADD, two.operand(), one.operand(),
                                      &s, 0, &out) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "binary: b.count is 1, expected 2");
  CHECK(backend().elementwise->binary(session.get(), TL_BINARY_ADD, two.operand(), wide.operand(),
                                      &s, 0, &out) == TL_INVALID_ARGUMENT);
  CHECK(backend().elementwise->unary(session.get(), 99, one.operand(), &s, 0, &out) ==
        TL_UNSUPPORTED);
  CHECK(backend().elementwise->binary(session.get(), 99, one.operand(), one.operand(), &s, 0,
                                      &out) == TL_UNSUPPORTED);
  tl_storage *both[2] = {};
  CHECK(backend().elementwise->select_bwd(session.get(), 99, one.operand(), one.operand(),
                                          one.operand(), 0, both) == TL_UNSUPPORTED);
  const tl_scalars small{sizeof(size_t), {0, 0}};
  CHECK(backend().elementwise->unary(session.get(), TL_UNARY_SCALE, one.operand(), &small, 0,
                                     &out) == TL_INVALID_ARGUMENT);
  CHECK(out == nullptr);
}
