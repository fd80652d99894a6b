// Special values of the elementwise operations, by the table of docs/operations.md.
#include "fixture.hpp"
#include "oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
struct Values {
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T signalling = std::numeric_limits<T>::signaling_NaN();
  static constexpr T largest = std::numeric_limits<T>::max();
  static constexpr T tiny = std::numeric_limits<T>::denorm_min();
};

template <class T>
T unary(tl_unary_op op, T x, double first = 0, double second = 0) {
  Backend backend;
  const tl_scalars scalars = {sizeof scalars, {first, second}};
  const Buffer<T> operand(backend, {x});
  return result<T>(backend, 1, [&](tl_storage **out) {
    return backend.table->elementwise->unary(backend.instance, op, operand.operand(), &scalars, 0,
                                             out);
  })[0];
}

template <class T>
T binary(tl_binary_op op, T a, T b, double first = 0, double second = 0) {
  Backend backend;
  const tl_scalars scalars = {sizeof scalars, {first, second}};
  const Buffer<T> x(backend, {a});
  const Buffer<T> y(backend, {b});
  return result<T>(backend, 1, [&](tl_storage **out) {
    return backend.table->elementwise->binary(backend.instance, op, x.operand(), y.operand(),
                                              &scalars, 0, out);
  })[0];
}

template <class T>
std::pair<T, T> select_bwd(tl_select_bwd_op op, T a, T b, T gradient) {
  Backend backend;
  const Buffer<T> x(backend, {a});
  const Buffer<T> y(backend, {b});
  const Buffer<T> g(backend, {gradient});
  const auto both = results<T>(backend, {1, 1}, [&](tl_storage **out) {
    return backend.table->elementwise->select_bwd(backend.instance, op, x.operand(), y.operand(),
                                                  g.operand(), 0, out);
  });
  return {both[0][0], both[1][0]};
}

}  // namespace

TEST_CASE_TEMPLATE("abs and neg act on the sign bit of zeros and NaN too", T, float, double) {
  using V = Values<T>;
  CHECK(same(unary<T>(TL_UNARY_ABS, T(-0.0)), T(0)));
  CHECK(same(unary<T>(TL_UNARY_NEG, T(0)), T(-0.0)));
  CHECK(!std::signbit(unary<T>(TL_UNARY_ABS, -V::nan)));
  CHECK(std::signbit(unary<T>(TL_UNARY_NEG, V::nan)));
}

TEST_CASE_TEMPLATE("sqrt and relu give +0 for what is not positive", T, float, double) {
  using V = Values<T>;
  for (const T x : {T(0), T(-0.0), T(-4), -V::infinity}) {
    CHECK(same(unary<T>(TL_UNARY_SQRT, x), T(0)));
    CHECK(same(unary<T>(TL_UNARY_RELU, x), T(0)));
  }
  CHECK(same(unary<T>(TL_UNARY_SQRT, V::nan), V::nan));
  CHECK(same(unary<T>(TL_UNARY_RELU, V::nan), T(0)));
  CHECK(unary<T>(TL_UNARY_SQRT, T(6.25)) == T(2.5));
}

TEST_CASE_TEMPLATE("inv, floor and scale are IEEE operations", T, float, double) {
  using V = Values<T>;
  CHECK(same(unary<T>(TL_UNARY_INV, T(-0.0)), -V::infinity));
  CHECK(same(unary<T>(TL_UNARY_INV, -V::infinity), T(-0.0)));
  CHECK(same(unary<T>(TL_UNARY_FLOOR, T(-0.5)), T(-1)));
  CHECK(same(unary<T>(TL_UNARY_FLOOR, T(-0.0)), T(-0.0)));
  CHECK(same(unary<T>(TL_UNARY_SCALE, V::infinity, 0), V::nan));
  CHECK(same(unary<T>(TL_UNARY_SCALE, V::tiny, 0.5), T(0)));
}

TEST_CASE_TEMPLATE("max, min and clamp take the other operand where one is NaN", T, float, double) {
  using V = Values<T>;
  for (const T nan : {V::nan, V::signalling}) {
    for (const tl_binary_op op : {TL_BINARY_MAX, TL_BINARY_MIN}) {
      CHECK(same(binary<T>(op, nan, T(3)), T(3)));
      CHECK(same(binary<T>(op, T(3), nan), T(3)));
      CHECK(same(binary<T>(op, nan, nan), nan));
    }
    CHECK(same(unary<T>(TL_UNARY_CLAMP, nan, -1, 2), T(-1)));
  }
  CHECK(binary<T>(TL_BINARY_MAX, T(-3), T(2)) == T(2));
  CHECK(binary<T>(TL_BINARY_MIN, T(-3), T(2)) == T(-3));
  CHECK(unary<T>(TL_UNARY_CLAMP, V::infinity, -1, 2) == T(2));
  CHECK(unary<T>(TL_UNARY_CLAMP, T(0.5), -1, 2) == T(0.5));
  CHECK(unary<T>(TL_UNARY_CLAMP, T(0.5), 2, -1) == T(-1));
}

TEST_CASE_TEMPLATE("mask blocks NaN and infinities, and NaN allows", T, float, double) {
  using V = Values<T>;
  CHECK(same(binary<T>(TL_BINARY_MASK, V::nan, T(-0.0)), T(0)));
  CHECK(same(binary<T>(TL_BINARY_MASK, -V::infinity, T(0)), T(0)));
  CHECK(same(binary<T>(TL_BINARY_MASK, T(-0.0), V::nan), T(-0.0)));
  CHECK(binary<T>(TL_BINARY_MASK, T(7), V::tiny) == T(7));
}

TEST_CASE_TEMPLATE("gradients are +0 where the operation is flat", T, float, double) {
  using V = Values<T>;
  for (const T x : {T(0), T(-0.0), T(-1), V::nan}) {
    CHECK(same(binary<T>(TL_BINARY_RELU_BWD, x, V::nan), T(0)));
    CHECK(same(binary<T>(TL_BINARY_SQRT_BWD, x, V::infinity), T(0)));
  }
  for (const T x : {T(-1), T(2), T(5), V::nan})
    CHECK(same(binary<T>(TL_BINARY_CLAMP_BWD, x, T(9), -1, 2), T(0)));
  CHECK(binary<T>(TL_BINARY_CLAMP_BWD, T(1.9), T(9), -1, 2) == T(9));
  CHECK(binary<T>(TL_BINARY_SQRT_BWD, T(4), T(8)) == T(2));
}

TEST_CASE_TEMPLATE("abs_bwd multiplies by the sign", T, float, double) {
  using V = Values<T>;
  CHECK(same(binary<T>(TL_BINARY_ABS_BWD, T(-2), T(3)), T(-3)));
  CHECK(same(binary<T>(TL_BINARY_ABS_BWD, T(0), T(-3)), T(-0.0)));
  CHECK(same(binary<T>(TL_BINARY_ABS_BWD, V::nan, T(3)), T(0)));
  CHECK(same(binary<T>(TL_BINARY_ABS_BWD, T(0), V::infinity), V::nan));
}

TEST_CASE_TEMPLATE("axpy rounds once", T, float, double) {
  const T next = 1 + std::numeric_limits<T>::epsilon();
  CHECK(binary<T>(TL_BINARY_AXPY, T(-1), next, next) ==
        2 * std::numeric_limits<T>::epsilon() +
            std::numeric_limits<T>::epsilon() * std::numeric_limits<T>::epsilon());
}

TEST_CASE_TEMPLATE("max_bwd and min_bwd share the gradient of ties and unordered pairs", T, float,
                   double) {
  using V = Values<T>;
  using Pair = std::pair<T, T>;
  CHECK(select_bwd<T>(TL_SELECT_MAX_BWD, 3, 1, 8) == Pair(8, 0));
  CHECK(select_bwd<T>(TL_SELECT_MAX_BWD, 1, 3, 8) == Pair(0, 8));
  CHECK(select_bwd<T>(TL_SELECT_MIN_BWD, 3, 1, 8) == Pair(0, 8));
  CHECK(select_bwd<T>(TL_SELECT_MAX_BWD, T(0), T(-0.0), 8) == Pair(4, 4));
  CHECK(select_bwd<T>(TL_SELECT_MIN_BWD, V::nan, 1, 8) == Pair(4, 4));
  CHECK(select_bwd<T>(TL_SELECT_MAX_BWD, 1, V::nan, 8) == Pair(4, 4));
}

TEST_CASE_TEMPLATE("sigmoid saturates to exactly 0 and 1", T, float, double) {
  using V = Values<T>;
  CHECK(same(unary<T>(TL_UNARY_SIGMOID, T(-800)), T(0)));
  CHECK(same(unary<T>(TL_UNARY_SIGMOID, T(800)), T(1)));
  CHECK(same(unary<T>(TL_UNARY_SIGMOID, T(0)), T(0.5)));
  CHECK(same(unary<T>(TL_UNARY_SIGMOID, V::nan), V::nan));
}

TEST_CASE_TEMPLATE("gelu and its gradient keep to their bounds", T, float, double) {
  const T eps = std::numeric_limits<T>::epsilon();
  const double c = static_cast<T>(0.044715), s = static_cast<T>(0.7978845608028654);
  const double three_c = static_cast<T>(0.134145);
  for (const T x : {T(-3), T(-1.25), T(-1e-3), T(0.1), T(1), T(2.5)}) {
    // double is exact enough for float; for double the bound is widened by this evaluation's own
    // error
    const double t = std::tanh(s * (x + c * x * x * x));
    const double d = (three_c * x * x + 1) * s;
    const double slack = sizeof(T) == 8 ? 2 : 1;
    CHECK(std::fabs(unary<T>(TL_UNARY_GELU, x) - x * (t + 1) / 2) <=
          slack * 2 * std::fabs(x) * eps);
    CHECK(
        std::fabs(binary<T>(TL_BINARY_GELU_BWD, x, T(3)) - 3 * (t + 1 + x * (1 - t * t) * d) / 2) <=
        slack * 8 * eps * (1 + std::fabs(x) * (1 + std::fabs(d))) * 3);
  }
  CHECK(same(unary<T>(TL_UNARY_GELU, T(-0.0)), T(-0.0)));
}

TEST_CASE_TEMPLATE("scaled_prod_exp rounds both products", T, float, double) {
  const T x = T(1.1), y = T(-2.3);
  const T expected = unary<T>(TL_UNARY_EXP, T(T(x * T(0.7)) * y));
  CHECK(same(binary<T>(TL_BINARY_SCALED_PROD_EXP, x, y, T(0.7)), expected));
}
