// One result per element: arithmetic as IEEE 754 defines it, each step rounded in the dtype.
#include "correctly_rounded.hpp"
#include "reference.hpp"

#include <cmath>

namespace torchlean::reference {
namespace {

// The other operand where one is NaN, a signalling one too (std::fmax differs there).
template <class T>
T maximum(T a, T b) {
  return std::isnan(b) || a > b ? a : b;
}

template <class T>
T minimum(T a, T b) {
  return std::isnan(b) || a < b ? a : b;
}

template <class T>
T sign(T x) {
  return x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
}

// ---- gelu(x) = x/2 * (1 + tanh(s * (x + c*x^3))) and its gradient -------------------------------

template <class T>
inline constexpr T gelu_scale = static_cast<T>(0.7978845608028654);  // sqrt(2/pi)

template <class T>
T gelu_tanh(T x) {
  const T c = static_cast<T>(0.044715);
  return correctly_rounded::tanh(gelu_scale<T> * (x + ((c * x) * x) * x));
}

template <class T>
T gelu(T x) {
  return (x * (gelu_tanh(x) + 1)) * T(0.5);
}

template <class T>
T gelu_bwd(T x, T gradient) {
  const T three_c = static_cast<T>(0.134145);
  const T t = gelu_tanh(x);
  const T h = 1 - t * t;
  const T d = ((three_c * x) * x + 1) * gelu_scale<T>;
  return (((t + 1) + (x * h) * d) * T(0.5)) * gradient;
}

// ---- The operations -----------------------------------------------------------------------------

template <class T>
T unary_value(tl_unary_op op, T x, const std::array<T, 2> &scalar) {
  switch (op) {
    case TL_UNARY_ABS: return std::fabs(x);
    case TL_UNARY_NEG: return -x;
    case TL_UNARY_FLOOR: return std::floor(x);
    case TL_UNARY_SQRT: return x <= 0 ? T(0) : std::sqrt(x);
    case TL_UNARY_INV: return 1 / x;
    case TL_UNARY_RELU: return x > 0 ? x : T(0);
    case TL_UNARY_EXP: return correctly_rounded::exp(x);
    case TL_UNARY_LOG: return correctly_rounded::log(x);
    case TL_UNARY_LOG1P: return correctly_rounded::log1p(x);
    case TL_UNARY_SIN: return correctly_rounded::sin(x);
    case TL_UNARY_COS: return correctly_rounded::cos(x);
    case TL_UNARY_TANH: return correctly_rounded::tanh(x);
    case TL_UNARY_SIGMOID: return 1 / (1 + correctly_rounded::exp(-x));
    case TL_UNARY_GELU: return gelu(x);
    case TL_UNARY_SCALE: return x * scalar[0];
    case TL_UNARY_CLAMP: return minimum(maximum(x, scalar[0]), scalar[1]);
    default: throw unknown("op", op);
  }
}

// The gradients take (x, dLdy).
template <class T>
T binary_value(tl_binary_op op, T a, T b, const std::array<T, 2> &scalar) {
  switch (op) {
    case TL_BINARY_ADD: return a + b;
    case TL_BINARY_SUB: return a - b;
    case TL_BINARY_MUL: return a * b;
    case TL_BINARY_DIV: return a / b;
    case TL_BINARY_MAX: return maximum(a, b);
    case TL_BINARY_MIN: return minimum(a, b);
    case TL_BINARY_MASK: return b != 0 ? a : T(0);
    case TL_BINARY_ABS_BWD: return sign(a) * b;
    case TL_BINARY_SQRT_BWD: return a > 0 ? b * (1 / (2 * std::sqrt(a))) : T(0);
    case TL_BINARY_RELU_BWD: return a > 0 ? b : T(0);
    case TL_BINARY_GELU_BWD: return gelu_bwd(a, b);
    case TL_BINARY_CLAMP_BWD: return scalar[0] < a && a < scalar[1] ? b : T(0);
    case TL_BINARY_AXPY: return std::fma(b, scalar[0], a);
    case TL_BINARY_SCALED_PROD_EXP: return correctly_rounded::exp((a * scalar[0]) * b);
    default: throw unknown("op", op);
  }
}

// Does the first of two operands win? The gradient is shared where neither does.
template <class T>
bool wins(tl_select_bwd_op op, T first, T second) {
  switch (op) {
    case TL_SELECT_MAX_BWD: return first > second;
    case TL_SELECT_MIN_BWD: return first < second;
    default: throw unknown("op", op);
  }
}

// ---- The loops ----------------------------------------------------------------------------------

template <class T>
std::array<T, 2> scalars_as(const tl_scalars *scalars) {
  const tl_scalars known = known_part("scalars", scalars);
  return {static_cast<T>(known.scalar[0]), static_cast<T>(known.scalar[1])};
}

void unary(tl_instance &instance, tl_unary_op op, const tl_operand *operand,
           const tl_scalars *scalars, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const auto scalar = scalars_as<T>(scalars);
    Result<T> y(instance, x.size());
    for (uint64_t i = 0; i < x.size(); ++i) y[i] = unary_value(op, x[i], scalar);
    hand_out(out, y);
  });
}

void binary(tl_instance &instance, tl_binary_op op, const tl_operand *first,
            const tl_operand *second, const tl_scalars *scalars, tl_flags, tl_storage **out) {
  expect_given("a", first);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    expect_equal("b.count", b.size(), a.size());
    const auto scalar = scalars_as<T>(scalars);
    Result<T> y(instance, a.size());
    for (uint64_t i = 0; i < a.size(); ++i) y[i] = binary_value(op, a[i], b[i], scalar);
    hand_out(out, y);
  });
}

void select_bwd(tl_instance &instance, tl_select_bwd_op op, const tl_operand *first,
                const tl_operand *second, const tl_operand *gradient, tl_flags, tl_storage **out) {
  expect_given("a", first);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    const auto g = values_of<T>("gradient", gradient);
    expect_equal("b.count", b.size(), a.size());
    expect_equal("gradient.count", g.size(), a.size());
    Result<T> da(instance, a.size());
    Result<T> db(instance, a.size());
    for (uint64_t i = 0; i < a.size(); ++i) {
      const bool to_a = wins(op, a[i], b[i]);
      const bool to_b = wins(op, b[i], a[i]);
      da[i] = to_a ? g[i] : to_b ? T(0) : T(0.5) * g[i];
      db[i] = to_b ? g[i] : to_a ? T(0) : T(0.5) * g[i];
    }
    hand_out(out, da, db);
  });
}

}  // namespace

const tl_elementwise_table elementwise_table = {
    .struct_size = sizeof(tl_elementwise_table),
    .unary = entry<"unary", unary>,
    .binary = entry<"binary", binary>,
    .select_bwd = entry<"select_bwd", select_bwd>,
};

}  // namespace torchlean::reference
