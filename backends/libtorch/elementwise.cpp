// One result per element. ATen's kernels where they are the specified value, loops of our own
// elsewhere; docs/libtorch.md lists which and why.
#include "composed.hpp"
#include "elementary.hpp"
#include "kernels.hpp"

#include <ATen/ops/sigmoid.h>

#include <functional>

namespace torchlean::libtorch {
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

// A fresh tensor of value(x[i]).
template <class T, class Value>
at::Tensor map(const at::Tensor &x, Value value) {
  at::Tensor result = empty(x.numel(), scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const from = x.const_data_ptr<T>();
  each(x.numel(), [=](int64_t i) { y[i] = value(from[i]); });
  return result;
}

// A fresh tensor of value(a[i], b[i]).
template <class T, class Value>
at::Tensor map(const at::Tensor &a, const at::Tensor &b, Value value) {
  at::Tensor result = empty(a.numel(), scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const first = a.const_data_ptr<T>();
  const T *const second = b.const_data_ptr<T>();
  each(a.numel(), [=](int64_t i) { y[i] = value(first[i], second[i]); });
  return result;
}

// t[i] becomes value(t[i], x[i]...).
template <class T, class Value, class... Tensors>
void update(const at::Tensor &t, Value value, const Tensors &...x) {
  T *const y = t.mutable_data_ptr<T>();
  const auto loop = [&](auto... from) {
    each(t.numel(), [=](int64_t i) { y[i] = value(y[i], from[i]...); });
  };
  loop(x.template const_data_ptr<T>()...);
}

// ---- gelu(x) = x/2 * (1 + tanh(s * (x + c*x^3))) and its gradient: ATen's rounds in another order

template <class T>
inline constexpr T gelu_scale = static_cast<T>(0.7978845608028654);  // sqrt(2/pi)

template <class T>
at::Tensor gelu_tanh(const tl_instance &instance, const at::Tensor &x) {
  const T c = static_cast<T>(0.044715);
  at::Tensor t = map<T>(x, [=](T v) { return gelu_scale<T> * (v + ((c * v) * v) * v); });
  elementary_in_place(instance, Elementary::tanh, t);
  return t;
}

template <class T>
at::Tensor gelu(const tl_instance &instance, const at::Tensor &x) {
  at::Tensor y = gelu_tanh<T>(instance, x);
  update<T>(
      y, [](T t, T v) { return (v * (t + 1)) * T(0.5); }, x);
  return y;
}

template <class T>
at::Tensor gelu_bwd(const tl_instance &instance, const at::Tensor &x, const at::Tensor &gradient) {
  const T three_c = static_cast<T>(0.134145);
  at::Tensor y = gelu_tanh<T>(instance, x);
  const auto value = [=](T t, T v, T g) {
    const T h = 1 - t * t;
    const T d = ((three_c * v) * v + 1) * gelu_scale<T>;
    return (((t + 1) + (v * h) * d) * T(0.5)) * g;
  };
  update<T>(y, value, x, gradient);
  return y;
}

// ATen's sigmoid rounds differently in the vector loop and in the rest that does not fill a vector.
template <class T>
at::Tensor sigmoid(const tl_instance &instance, const at::Tensor &x) {
  if (!instance.deterministic) return at::sigmoid(x);
  at::Tensor y = map<T>(x, [](T v) { return -v; });
  elementary_in_place(instance, Elementary::exp, y);
  update<T>(y, [](T e) { return 1 / (1 + e); });
  return y;
}

template <class T>
at::Tensor scaled_prod_exp(const tl_instance &instance, const at::Tensor &x, const at::Tensor &y,
                           T scale) {
  at::Tensor result = map<T>(x, y, [=](T a, T b) { return (a * scale) * b; });
  elementary_in_place(instance, Elementary::exp, result);
  return result;
}

// ---- The operations -----------------------------------------------------------------------------

template <class T>
at::Tensor unary_value(const tl_instance &instance, tl_unary_op op, const at::Tensor &x,
                       const std::array<T, 2> &scalar) {
  switch (op) {
    case TL_UNARY_ABS: return map<T>(x, [](T v) { return std::abs(v); });
    case TL_UNARY_NEG: return map<T>(x, std::negate<T>());
    case TL_UNARY_FLOOR: return map<T>(x, [](T v) { return std::floor(v); });
    case TL_UNARY_SQRT:
      return map<T>(x, [](T v) {
        const T root = std::sqrt(v);
        return v <= 0 ? T(0) : root;
      });
    case TL_UNARY_INV: return map<T>(x, [](T v) { return 1 / v; });
    case TL_UNARY_RELU: return map<T>(x, [](T v) { return v > 0 ? v : T(0); });
    case TL_UNARY_EXP: return elementary(instance, Elementary::exp, x);
    case TL_UNARY_LOG: return elementary(instance, Elementary::log, x);
    case TL_UNARY_LOG1P: return elementary(instance, Elementary::log1p, x);
    case TL_UNARY_SIN: return elementary(instance, Elementary::sin, x);
    case TL_UNARY_COS: return elementary(instance, Elementary::cos, x);
    case TL_UNARY_TANH: return elementary(instance, Elementary::tanh, x);
    case TL_UNARY_SIGMOID: return sigmoid<T>(instance, x);
    case TL_UNARY_GELU: return gelu<T>(instance, x);
    case TL_UNARY_SCALE: return map<T>(x, [factor = scalar[0]](T v) { return v * factor; });
    case TL_UNARY_CLAMP:
      return map<T>(x,
                    [lo = scalar[0], hi = scalar[1]](T v) { return minimum(maximum(v, lo), hi); });
    default: throw unknown("op", op);
  }
}

// The gradients take (x, dLdy).
template <class T>
at::Tensor binary_value(const tl_instance &instance, tl_binary_op op, const at::Tensor &a,
                        const at::Tensor &b, const std::array<T, 2> &scalar) {
  switch (op) {
    case TL_BINARY_ADD: return map<T>(a, b, std::plus<T>());
    case TL_BINARY_SUB: return map<T>(a, b, std::minus<T>());
    case TL_BINARY_MUL: return map<T>(a, b, std::multiplies<T>());
    case TL_BINARY_DIV: return map<T>(a, b, std::divides<T>());
    case TL_BINARY_MAX: return map<T>(a, b, [](T v, T w) { return maximum(v, w); });
    case TL_BINARY_MIN: return map<T>(a, b, [](T v, T w) { return minimum(v, w); });
    case TL_BINARY_MASK:
      return map<T>(a, b, [](T v, T allowed) { return allowed != 0 ? v : T(0); });
    case TL_BINARY_ABS_BWD:
      return map<T>(a, b, [](T x, T g) { return (x > 0 ? T(1) : x < 0 ? T(-1) : T(0)) * g; });
    case TL_BINARY_SQRT_BWD:
      return map<T>(a, b, [](T x, T g) {
        const T slope = 1 / (2 * std::sqrt(x));
        return x > 0 ? g * slope : T(0);
      });
    case TL_BINARY_RELU_BWD: return map<T>(a, b, [](T x, T g) { return x > 0 ? g : T(0); });
    case TL_BINARY_GELU_BWD: return gelu_bwd<T>(instance, a, b);
    case TL_BINARY_CLAMP_BWD:
      return map<T>(
          a, b, [lo = scalar[0], hi = scalar[1]](T x, T g) { return lo < x && x < hi ? g : T(0); });
    case TL_BINARY_AXPY:
      return map<T>(a, b, [factor = scalar[0]](T v, T w) { return std::fma(w, factor, v); });
    case TL_BINARY_SCALED_PROD_EXP: return scaled_prod_exp<T>(instance, a, b, scalar[0]);
    default: throw unknown("op", op);
  }
}

template <class T>
std::array<T, 2> scalars_as(const tl_scalars *scalars) {
  const tl_scalars &known = known_part("scalars", scalars);
  return {static_cast<T>(known.scalar[0]), static_cast<T>(known.scalar[1])};
}

void unary(tl_instance &instance, tl_unary_op op, const tl_operand *operand,
           const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const at::Tensor x = native_tensor("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const std::array<T, 2> scalar = scalars_as<T>(scalars);
    hand_out(out, instance.composed ? composed::unary(op, x, scalar[0], scalar[1])
                                    : unary_value(instance, op, x, scalar));
  });
}

// ATen would broadcast operands of unequal size.
void expect_alike(const char *argument, const tl_operand *operand, const tl_operand *first) {
  expect_member(argument, "dtype", operand->dtype, first->dtype);
  expect_member(argument, "count", operand->count, first->count);
}

void binary(tl_instance &instance, tl_binary_op op, const tl_operand *first,
            const tl_operand *second, const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const at::Tensor a = native_tensor("a", first);
  const at::Tensor b = native_tensor("b", second);
  expect_alike("b", second, first);
  with_native(first->dtype, [&]<class T>(T) {
    const std::array<T, 2> scalar = scalars_as<T>(scalars);
    hand_out(out, instance.composed ? composed::binary(op, a, b, scalar[0], scalar[1])
                                    : binary_value(instance, op, a, b, scalar));
  });
}

// The winner gets the gradient; ties and unordered pairs share it.
template <class T, class Wins>
void share(T *da, T *db, const T *a, const T *b, const T *g, int64_t n, Wins wins) {
  each(n, [=](int64_t i) {
    const bool to_a = wins(a[i], b[i]);
    const bool to_b = wins(b[i], a[i]);
    const T half = T(0.5) * g[i];
    da[i] = to_a ? g[i] : to_b ? T(0) : half;
    db[i] = to_b ? g[i] : to_a ? T(0) : half;
  });
}

void select_bwd(tl_instance &instance, tl_select_bwd_op op, const tl_operand *first,
                const tl_operand *second, const tl_operand *gradient, tl_flags, tl_storage **out) {
  const at::Tensor first_tensor = native_tensor("a", first);
  const at::Tensor second_tensor = native_tensor("b", second);
  const at::Tensor gradient_tensor = native_tensor("gradient", gradient);
  expect_alike("b", second, first);
  expect_alike("gradient", gradient, first);
  if (instance.composed)
    return hand_out(out, composed::select_bwd(op, first_tensor, second_tensor, gradient_tensor));
  with_native(first->dtype, [&]<class T>(T) {
    const T *const a = first_tensor.const_data_ptr<T>();
    const T *const b = second_tensor.const_data_ptr<T>();
    const T *const g = gradient_tensor.const_data_ptr<T>();
    const int64_t n = extent("count", first->count);
    const at::Tensor to_a = empty(n, scalar_type<T>);
    const at::Tensor to_b = empty(n, scalar_type<T>);
    T *const da = to_a.mutable_data_ptr<T>();
    T *const db = to_b.mutable_data_ptr<T>();
    switch (op) {
      case TL_SELECT_MAX_BWD: share(da, db, a, b, g, n, [](T x, T y) { return x > y; }); break;
      case TL_SELECT_MIN_BWD: share(da, db, a, b, g, n, [](T x, T y) { return x < y; }); break;
      default: throw unknown("op", op);
    }
    hand_out(out, {to_a, to_b});
  });
}

}  // namespace

const tl_elementwise_table elementwise_table = {
    .struct_size = sizeof(tl_elementwise_table),
    .unary = entry<"unary", unary>,
    .binary = entry<"binary", binary>,
    .select_bwd = entry<"select_bwd", select_bwd>,
};

}  // namespace torchlean::libtorch
