// The elementwise operations, one vector at a time: each step as the reference backend writes it.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_ELEMENTWISE_OPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_ELEMENTWISE_OPS_INL
#undef TORCHLEAN_CPU_ELEMENTWISE_OPS_INL
#else
#define TORCHLEAN_CPU_ELEMENTWISE_OPS_INL
#endif

#include "elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// ---- Parts --------------------------------------------------------------------------------------

template <class D>
HWY_INLINE hn::Vec<D> number(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

// The other operand where one is NaN. (The instruction on x86 gives b then.)
template <class V>
HWY_INLINE V maximum(V a, V b) {
  const V larger = HWY_ARCH_X86 ? hn::Max(a, b) : hn::IfThenElse(hn::Gt(a, b), a, b);
  return hn::IfThenElse(hn::IsNaN(b), a, larger);
}
template <class V>
HWY_INLINE V minimum(V a, V b) {
  const V smaller = HWY_ARCH_X86 ? hn::Min(a, b) : hn::IfThenElse(hn::Lt(a, b), a, b);
  return hn::IfThenElse(hn::IsNaN(b), a, smaller);
}

// gelu(x) = x (1 + tanh u) / 2, u = s (x + c x^3), and 1 + tanh u = 2 / (1 + e^(-2u)): an
// exponential costs half of what a tanh does.
inline constexpr double gelu_scale = 0.7978845608028654;  // s = sqrt(2/pi)

// 1 / (1 + tanh u)
template <class D, class V>
HWY_INLINE V gelu_divisor(D d, V x) {
  const V factor =
      fma(hn::Mul(x, x), number(d, -2 * gelu_scale * 0.044715), number(d, -2 * gelu_scale));
  return fma(exp_of(d, hn::Mul(x, factor)), number(d, 0.5), number(d, 0.5));
}

// ---- One operand --------------------------------------------------------------------------------

template <tl_unary_op op>
struct Unary {
  static constexpr int operands = 1;
  static constexpr int results = 1;

  template <class D, class T, class V>
  static HWY_INLINE void apply(D d, const T *scalar, const V *x, V *y) {
    *y = value(d, scalar, *x);
  }

  template <class D, class T, class V>
  static HWY_INLINE V value(D d, const T *scalar, V x) {
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, T(1));
    if constexpr (op == TL_UNARY_ABS) return hn::Abs(x);
    if constexpr (op == TL_UNARY_NEG) return hn::Xor(x, hn::SignBit(d));
    // The sign keeps -0, which Highway's scalar target loses.
    if constexpr (op == TL_UNARY_FLOOR) return hn::CopySign(hn::Floor(x), x);
    if constexpr (op == TL_UNARY_SQRT) return hn::IfThenZeroElse(hn::Le(x, zero), hn::Sqrt(x));
    if constexpr (op == TL_UNARY_INV) return hn::Div(one, x);
    if constexpr (op == TL_UNARY_RELU) return hn::IfThenElseZero(hn::Gt(x, zero), x);
    if constexpr (op == TL_UNARY_EXP) return exp_of(d, x);
    if constexpr (op == TL_UNARY_LOG) return log_of(d, x);
    if constexpr (op == TL_UNARY_LOG1P) return log1p_of(d, x);
    if constexpr (op == TL_UNARY_SIN) return sin_of(d, x);
    if constexpr (op == TL_UNARY_COS) return cos_of(d, x);
    if constexpr (op == TL_UNARY_TANH) return tanh_of(d, x);
    if constexpr (op == TL_UNARY_SIGMOID)
      return hn::Div(one, hn::Add(one, exp_of(d, hn::Xor(x, hn::SignBit(d)))));
    // x (1 + tanh u) overflows before it is halved, as the specification's does.
    if constexpr (op == TL_UNARY_GELU)
      return hn::Mul(hn::Div(x, gelu_divisor(d, x)), hn::Set(d, T(0.5)));
    if constexpr (op == TL_UNARY_SCALE) return hn::Mul(x, hn::Set(d, scalar[0]));
    if constexpr (op == TL_UNARY_CLAMP)
      return minimum(maximum(x, hn::Set(d, scalar[0])), hn::Set(d, scalar[1]));
  }
};

// ---- Two operands; the gradients take (x, dLdy) -------------------------------------------------

// Where tanh u is next to -1, the specification's rounds to it, so this one must.
template <class D, class V>
HWY_INLINE V gelu_bwd(D d, V x, V gradient) {
  const V one = number(d, 1);
  const V t = hn::Sub(hn::Div(one, gelu_divisor(d, x)), one);
  const V h = hn::Sub(one, hn::Mul(t, t));
  const V slope =
      hn::Mul(hn::Add(hn::Mul(hn::Mul(number(d, 0.134145), x), x), one), number(d, gelu_scale));
  const V sum = hn::Add(hn::Add(t, one), hn::Mul(hn::Mul(x, h), slope));
  return hn::Mul(hn::Mul(sum, number(d, 0.5)), gradient);
}

template <class D, class V>
HWY_INLINE V sign(D d, V x) {
  const V zero = hn::Zero(d);
  const V of_negative = hn::IfThenElseZero(hn::Lt(x, zero), number(d, -1));
  return hn::IfThenElse(hn::Gt(x, zero), number(d, 1), of_negative);
}

template <tl_binary_op op>
struct Binary {
  static constexpr int operands = 2;
  static constexpr int results = 1;

  template <class D, class T, class V>
  static HWY_INLINE void apply(D d, const T *scalar, const V *x, V *y) {
    *y = value(d, scalar, x[0], x[1]);
  }

  template <class D, class T, class V>
  static HWY_INLINE V value(D d, const T *scalar, V a, V b) {
    const V zero = hn::Zero(d);
    const auto is_positive = hn::Gt(a, zero);
    const V first = hn::Set(d, scalar[0]);
    if constexpr (op == TL_BINARY_ADD) return hn::Add(a, b);
    if constexpr (op == TL_BINARY_SUB) return hn::Sub(a, b);
    if constexpr (op == TL_BINARY_MUL) return hn::Mul(a, b);
    if constexpr (op == TL_BINARY_DIV) return hn::Div(a, b);
    if constexpr (op == TL_BINARY_MAX) return maximum(a, b);
    if constexpr (op == TL_BINARY_MIN) return minimum(a, b);
    if constexpr (op == TL_BINARY_MASK) return hn::IfThenZeroElse(hn::Eq(b, zero), a);
    if constexpr (op == TL_BINARY_ABS_BWD) return hn::Mul(sign(d, a), b);
    if constexpr (op == TL_BINARY_SQRT_BWD) {
      const V slope = hn::Div(number(d, 1), hn::Mul(number(d, 2), hn::Sqrt(a)));
      return hn::IfThenElseZero(is_positive, hn::Mul(b, slope));
    }
    if constexpr (op == TL_BINARY_RELU_BWD) return hn::IfThenElseZero(is_positive, b);
    if constexpr (op == TL_BINARY_GELU_BWD) return gelu_bwd(d, a, b);
    if constexpr (op == TL_BINARY_CLAMP_BWD)
      return hn::IfThenElseZero(hn::And(hn::Lt(first, a), hn::Lt(a, hn::Set(d, scalar[1]))), b);
    if constexpr (op == TL_BINARY_AXPY) return fma(b, first, a);
    if constexpr (op == TL_BINARY_SCALED_PROD_EXP) return exp_of(d, hn::Mul(hn::Mul(a, first), b));
  }
};

// ---- Gradients of the larger or smaller of two --------------------------------------------------

template <tl_select_bwd_op op>
struct SelectBwd {
  static constexpr int operands = 3;
  static constexpr int results = 2;

  // The winner gets the gradient, the loser nothing; both get half where neither wins.
  template <class D, class T, class V>
  static HWY_INLINE void apply(D d, const T *, const V *x, V *y) {
    const V half = hn::Mul(hn::Set(d, T(0.5)), x[2]);
    const bool is_max = op == TL_SELECT_MAX_BWD;
    const auto to_a = hn::Lt(x[is_max ? 1 : 0], x[is_max ? 0 : 1]);
    const auto to_b = hn::Lt(x[is_max ? 0 : 1], x[is_max ? 1 : 0]);
    y[0] = hn::IfThenElse(to_a, x[2], hn::IfThenZeroElse(to_b, half));
    y[1] = hn::IfThenElse(to_b, x[2], hn::IfThenZeroElse(to_a, half));
  }
};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_ELEMENTWISE_OPS_INL
