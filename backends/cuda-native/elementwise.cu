// Elementwise operations: one device function for each formula of the specification, one kernel
// that maps it over the elements.
#include "elementary.cuh"
#include "instance.hpp"
#include "launch.cuh"
#include "operation_names.hpp"
#include "words.cuh"

namespace torchlean::cuda {

// ---- Formulas: x, a, b are elements, g is the gradient of the result, the others host scalars --

namespace formula {

template <class T>
__device__ T abs(T x) {
  return absolute(x);
}

template <class T>
__device__ T neg(T x) {
  return negated(x);
}

template <class T>
__device__ T floor(T x) {
  return floor_exact(x);
}

// +0 where x <= 0, both zeros included; NaN stays NaN.
template <class T>
__device__ T sqrt(T x) {
  return x <= T(0) ? T(0) : sqrt_rn(x);
}

template <class T>
__device__ T inv(T x) {
  return div_rn(T(1), x);
}

template <class T>
__device__ T relu(T x) {
  return x > T(0) ? x : T(0);
}

template <class T>
__device__ T exp(T x) {
  return elementary::exp(x);
}

template <class T>
__device__ T log(T x) {
  return elementary::log(x);
}

template <class T>
__device__ T log1p(T x) {
  return elementary::log1p(x);
}

template <class T>
__device__ T sin(T x) {
  return elementary::sin(x);
}

template <class T>
__device__ T cos(T x) {
  return elementary::cos(x);
}

template <class T>
__device__ T tanh(T x) {
  return elementary::tanh(x);
}

// 1 / (1 + exp(-x))
template <class T>
__device__ T sigmoid(T x) {
  return div_rn(T(1), add_rn(T(1), elementary::exp(negated(x))));
}

// sqrt(2 / pi), the scale of gelu's argument.
template <class T>
inline constexpr T gelu_scale = T(0.7978845608028654);

// tanh(s (x + ((c x) x) x)), which gelu and its gradient share.
template <class T>
__device__ T gelu_tanh(T x) {
  const T cube = mul_rn(mul_rn(mul_rn(T(0.044715), x), x), x);
  return elementary::tanh(mul_rn(gelu_scale<T>, add_rn(x, cube)));
}

// (x (t + 1)) 0.5
template <class T>
__device__ T gelu(T x) {
  return mul_rn(mul_rn(x, add_rn(gelu_tanh(x), T(1))), T(0.5));
}

template <class T>
__device__ T scale(T x, T factor) {
  return mul_rn(x, factor);
}

// fmin(fmax(x, lo), hi): NaN gives lo where lo <= hi.
template <class T>
__device__ T clamp(T x, T lo, T hi) {
  return minimum(maximum(x, lo), hi);
}

template <class T>
__device__ T add(T a, T b) {
  return add_rn(a, b);
}

template <class T>
__device__ T sub(T a, T b) {
  return sub_rn(a, b);
}

template <class T>
__device__ T mul(T a, T b) {
  return mul_rn(a, b);
}

template <class T>
__device__ T div(T a, T b) {
  return div_rn(a, b);
}

template <class T>
__device__ T max(T a, T b) {
  return maximum(a, b);
}

template <class T>
__device__ T min(T a, T b) {
  return minimum(a, b);
}

// NaN counts as allowed; a blocked value vanishes, even NaN and infinity.
template <class T>
__device__ T mask(T value, T allowed) {
  return allowed != T(0) ? value : T(0);
}

// sign(x) g, with sign(NaN) = 0: a multiplication, so that 0 * infinity is NaN.
template <class T>
__device__ T abs_bwd(T x, T g) {
  const T sign = x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
  return mul_rn(sign, g);
}

// g (1 / (2 sqrt x))
template <class T>
__device__ T sqrt_bwd(T x, T g) {
  return x > T(0) ? mul_rn(g, div_rn(T(1), mul_rn(T(2), sqrt_rn(x)))) : T(0);
}

template <class T>
__device__ T relu_bwd(T x, T g) {
  return x > T(0) ? g : T(0);
}

// h = 1 - t t, d = ((3 c x) x + 1) s: (((t + 1) + (x h) d) 0.5) g
template <class T>
__device__ T gelu_bwd(T x, T g) {
  const T t = gelu_tanh(x);
  const T h = sub_rn(T(1), mul_rn(t, t));
  const T d = mul_rn(add_rn(mul_rn(mul_rn(T(0.134145), x), x), T(1)), gelu_scale<T>);
  const T r = mul_rn(add_rn(add_rn(t, T(1)), mul_rn(mul_rn(x, h), d)), T(0.5));
  return mul_rn(r, g);
}

template <class T>
__device__ T clamp_bwd(T x, T g, T lo, T hi) {
  return x > lo && x < hi ? g : T(0);
}

template <class T>
__device__ T axpy(T a, T b, T factor) {
  return fma_rn(b, factor, a);
}

// exp((x c) y)
template <class T>
__device__ T scaled_prod_exp(T x, T y, T factor) {
  return elementary::exp(mul_rn(mul_rn(x, factor), y));
}

// The gradients of a selection's two operands.
template <class T>
struct Split {
  T a;
  T b;
};

// The winner gets g, the loser +0; ties and unordered pairs half each.
template <class T>
__device__ Split<T> split(bool a_wins, bool b_wins, T g) {
  const T half = mul_rn(T(0.5), g);
  return a_wins ? Split<T>{g, T(0)} : b_wins ? Split<T>{T(0), g} : Split<T>{half, half};
}

template <class T>
__device__ Split<T> max_bwd(T a, T b, T g) {
  return split(a > b, b > a, g);
}

template <class T>
__device__ Split<T> min_bwd(T a, T b, T g) {
  return split(a < b, b < a, g);
}

}  // namespace formula

namespace {

// ---- Kernels -----------------------------------------------------------------------------------

// An argument of a mapped formula: an array gives its word i, a scalar itself for every element.
template <size_t width, class T>
__device__ Word<T, width> word_at(const T *array, uint64_t i) {
  return load_word<width>(array, i);
}
template <size_t width, class T>
__device__ T word_at(T scalar, uint64_t) {
  return scalar;
}
template <class T, size_t width>
__device__ T element_of(const Word<T, width> &word, size_t k) {
  return word.element[k];
}
template <class T>
__device__ T element_of(T scalar, size_t) {
  return scalar;
}

template <auto value_of, class T, size_t width, class... Words>
__device__ Word<T, width> mapped(const Words &...words) {
  Word<T, width> values;
  for (size_t k = 0; k < width; ++k) {
    values.element[k] = value_of(element_of(words, k)...);
  }
  return values;
}

template <auto value_of, class T, class... Arguments>
__global__ void map_kernel(uint64_t items, uint64_t n, T *out, Arguments... arguments) {
  for_words<widest_word<T>>(items, n, [&]<size_t width>(uint64_t i) {
    store_word(out, i, mapped<value_of, T, width>(word_at<width>(arguments, i)...));
  });
}

template <auto split_of, class T>
__global__ void split_kernel(uint64_t items, uint64_t n, T *out_a, T *out_b, const T *a, const T *b,
                             const T *g) {
  for_words<widest_word<T>>(items, n, [&]<size_t width>(uint64_t i) {
    const Word<T, width> as = load_word<width>(a, i);
    const Word<T, width> bs = load_word<width>(b, i);
    const Word<T, width> gs = load_word<width>(g, i);
    Word<T, width> d_a, d_b;
    for (size_t k = 0; k < width; ++k) {
      const formula::Split<T> both = split_of(as.element[k], bs.element[k], gs.element[k]);
      d_a.element[k] = both.a;
      d_b.element[k] = both.b;
    }
    store_word(out_a, i, d_a);
    store_word(out_b, i, d_b);
  });
}

// ---- From enumerators to kernels ---------------------------------------------------------------

constexpr auto unary_names = operation_names<TL_UNARY_OP_COUNT>("unary");
constexpr auto binary_names = operation_names<TL_BINARY_OP_COUNT>("binary");
constexpr auto select_names = operation_names<TL_SELECT_BWD_OP_COUNT>("select_bwd");

// What one call computes: map<formula::relu<T>>(x) launches the kernel that fills `out`.
template <class T>
struct Call {
  tl_instance &instance;
  const char *operation;
  uint64_t n;
  T *out;

  template <auto value_of, class... Arguments>
  void map(Arguments... arguments) const {
    launch_words<widest_word<T>>(*instance.stream, operation, n,
                                 &map_kernel<value_of, T, Arguments...>, out, arguments...);
  }
};

template <class T>
void map_unary(const Call<T> &call, tl_unary_op op, const T *x, const tl_scalars &scalars) {
  const T first = static_cast<T>(scalars.scalar[0]);
  const T second = static_cast<T>(scalars.scalar[1]);
  switch (op) {
    case TL_UNARY_ABS: return call.template map<formula::abs<T>>(x);
    case TL_UNARY_NEG: return call.template map<formula::neg<T>>(x);
    case TL_UNARY_FLOOR: return call.template map<formula::floor<T>>(x);
    case TL_UNARY_SQRT: return call.template map<formula::sqrt<T>>(x);
    case TL_UNARY_INV: return call.template map<formula::inv<T>>(x);
    case TL_UNARY_RELU: return call.template map<formula::relu<T>>(x);
    case TL_UNARY_EXP: return call.template map<formula::exp<T>>(x);
    case TL_UNARY_LOG: return call.template map<formula::log<T>>(x);
    case TL_UNARY_LOG1P: return call.template map<formula::log1p<T>>(x);
    case TL_UNARY_SIN: return call.template map<formula::sin<T>>(x);
    case TL_UNARY_COS: return call.template map<formula::cos<T>>(x);
    case TL_UNARY_TANH: return call.template map<formula::tanh<T>>(x);
    case TL_UNARY_SIGMOID: return call.template map<formula::sigmoid<T>>(x);
    case TL_UNARY_GELU: return call.template map<formula::gelu<T>>(x);
    case TL_UNARY_SCALE: return call.template map<formula::scale<T>>(x, first);
    case TL_UNARY_CLAMP: return call.template map<formula::clamp<T>>(x, first, second);
    default: refuse_enumerator("unary", op);
  }
}

template <class T>
void map_binary(const Call<T> &call, tl_binary_op op, const T *a, const T *b,
                const tl_scalars &scalars) {
  const T first = static_cast<T>(scalars.scalar[0]);
  const T second = static_cast<T>(scalars.scalar[1]);
  switch (op) {
    case TL_BINARY_ADD: return call.template map<formula::add<T>>(a, b);
    case TL_BINARY_SUB: return call.template map<formula::sub<T>>(a, b);
    case TL_BINARY_MUL: return call.template map<formula::mul<T>>(a, b);
    case TL_BINARY_DIV: return call.template map<formula::div<T>>(a, b);
    case TL_BINARY_MAX: return call.template map<formula::max<T>>(a, b);
    case TL_BINARY_MIN: return call.template map<formula::min<T>>(a, b);
    case TL_BINARY_MASK: return call.template map<formula::mask<T>>(a, b);
    case TL_BINARY_ABS_BWD: return call.template map<formula::abs_bwd<T>>(a, b);
    case TL_BINARY_SQRT_BWD: return call.template map<formula::sqrt_bwd<T>>(a, b);
    case TL_BINARY_RELU_BWD: return call.template map<formula::relu_bwd<T>>(a, b);
    case TL_BINARY_GELU_BWD: return call.template map<formula::gelu_bwd<T>>(a, b);
    case TL_BINARY_CLAMP_BWD: return call.template map<formula::clamp_bwd<T>>(a, b, first, second);
    case TL_BINARY_AXPY: return call.template map<formula::axpy<T>>(a, b, first);
    case TL_BINARY_SCALED_PROD_EXP:
      return call.template map<formula::scaled_prod_exp<T>>(a, b, first);
    default: refuse_enumerator("binary", op);
  }
}

// ---- Entries -----------------------------------------------------------------------------------

void unary(tl_instance *instance, tl_unary_op op, const tl_operand *x, const tl_scalars *scalars,
           tl_flags, tl_storage **out) {
  const char *operation = name_of(unary_names, "unary", op);
  with_native(operation, x->dtype, [&]<class T>() {
    check_struct_size(operation, scalars->struct_size, sizeof(tl_scalars));
    check_operand(operation, "x", *x, native_dtype<T>, x->count);
    Result result(*instance, operation, x->count, sizeof(T));
    const Call<T> call{*instance, operation, x->count, result.elements<T>()};
    map_unary(call, op, elements<T>(*x), *scalars);
    *out = result.hand_over();
  });
}

void binary(tl_instance *instance, tl_binary_op op, const tl_operand *a, const tl_operand *b,
            const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const char *operation = name_of(binary_names, "binary", op);
  with_native(operation, a->dtype, [&]<class T>() {
    check_struct_size(operation, scalars->struct_size, sizeof(tl_scalars));
    check_operand(operation, "a", *a, native_dtype<T>, a->count);
    check_operand(operation, "b", *b, native_dtype<T>, a->count);
    Result result(*instance, operation, a->count, sizeof(T));
    const Call<T> call{*instance, operation, a->count, result.elements<T>()};
    map_binary(call, op, elements<T>(*a), elements<T>(*b), *scalars);
    *out = result.hand_over();
  });
}

void select_bwd(tl_instance *instance, tl_select_bwd_op op, const tl_operand *a,
                const tl_operand *b, const tl_operand *gradient, tl_flags, tl_storage *out[2]) {
  const char *operation = name_of(select_names, "select_bwd", op);
  with_native(operation, a->dtype, [&]<class T>() {
    const uint64_t n = a->count;
    check_operand(operation, "a", *a, native_dtype<T>, n);
    check_operand(operation, "b", *b, native_dtype<T>, n);
    check_operand(operation, "gradient", *gradient, native_dtype<T>, n);
    Result d_a(*instance, operation, n, sizeof(T));
    Result d_b(*instance, operation, n, sizeof(T));
    launch_words<widest_word<T>>(*instance->stream, operation, n,
                                 op == TL_SELECT_MAX_BWD ? &split_kernel<formula::max_bwd<T>, T>
                                                         : &split_kernel<formula::min_bwd<T>, T>,
                                 d_a.elements<T>(), d_b.elements<T>(), elements<T>(*a),
                                 elements<T>(*b), elements<T>(*gradient));
    out[0] = d_a.hand_over();
    out[1] = d_b.hand_over();
  });
}

}  // namespace

const tl_elementwise_table elementwise_table = {
    .struct_size = sizeof(tl_elementwise_table),
    .unary = entry<unary>,
    .binary = entry<binary>,
    .select_bwd = entry<select_bwd>,
};

}  // namespace torchlean::cuda
