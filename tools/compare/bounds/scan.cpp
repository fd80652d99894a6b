// What a scan and its gradients are held against: the sequential recurrence, step by step in the
// dtype, and where every |a| <= 1 the exact value with its bound.
//
// An output depends on the chain of its own state alone, so that |a| <= 1 is asked of each chain.
#include "compare/bounds/magnitudes.hpp"
#include "compare/standard.hpp"

#include <cfloat>
#include <type_traits>
#include <utility>

namespace torchlean::tools {
namespace {

using enum Allowance::Unit;

// The type of exact values. A recurrence of T steps errs by 2 T units of it in its terms'
// magnitudes, less than a thousandth of any bound here.
#if LDBL_MANT_DIG == 113
using Quadruple = long double;
#else
__extension__ typedef __float128 Quadruple;
#endif
template <class T>
using Exact = std::conditional_t<std::is_same_v<T, float>, long double, Quadruple>;

// A value on its way through a chain, in three ways.
template <class T>
struct Value {
  T sequential = 0;            // every product and every sum rounded
  Exact<T> exact = 0;          // not rounded
  long double magnitudes = 0;  // sum of |terms|
  long double subnormals = 0;  // smallest subnormals that terms below the normal range add
  bool is_finite = true;       // no infinity or NaN has reached it

  Value() = default;
  explicit Value(T x)
      : sequential(x), exact(x), magnitudes(std::fabs(x)), is_finite(std::isfinite(x)) {}

  friend Value operator*(const Value &a, const Value &b) {
    Value result;
    result.sequential = a.sequential * b.sequential;
    result.exact = a.exact * b.exact;
    result.magnitudes = a.magnitudes * b.magnitudes;
    // One of the two is an input, which has none of its own.
    result.subnormals = a.subnormals * b.magnitudes + b.subnormals * a.magnitudes;
    if (is_below_normal(limits(), result.magnitudes)) result.subnormals += 4;
    result.is_finite = a.is_finite && b.is_finite;
    return result;
  }
  friend Value operator+(const Value &a, const Value &b) {
    Value result;
    result.sequential = a.sequential + b.sequential;
    result.exact = a.exact + b.exact;
    result.magnitudes = a.magnitudes + b.magnitudes;
    result.subnormals = a.subnormals + b.subnormals;
    result.is_finite = a.is_finite && b.is_finite;
    return result;
  }

  static const Limits &limits() { return limits_of(sizeof(T) == 4 ? TL_FLOAT32 : TL_FLOAT64); }
};

// The outputs of a call, element by element in any order.
template <class T>
class Outputs {
 public:
  Outputs(const Case &one, const std::vector<std::uint64_t> &sizes)
      : factor_(4 * std::log2(2 * std::max(1.0, static_cast<double>(one.dims[0]))) *
                limits_of(one.dtype).epsilon) {
    for (const std::uint64_t size : sizes) {
      standard_.expected.push_back({one.dtype, {}, std::vector<std::uint64_t>(size)});
      standard_.allowances.emplace_back(size);
    }
  }

  // `is_bounded`: the exact value counts, too.
  void put(std::size_t output, std::uint64_t index, const Value<T> &value, bool is_bounded) {
    Array &expected = standard_.expected[output];
    expected.bits[index] = to_bits(expected.dtype, value.sequential);
    standard_.allowances[output][index] = allowance(expected.dtype, value, is_bounded);
  }

  Standard take() { return std::move(standard_); }

 private:
  Allowance allowance(tl_dtype dtype, const Value<T> &value, bool is_bounded) const {
    const Limits &limits = limits_of(dtype);
    if (!is_bounded || !value.is_finite) return {exact};
    if (value.magnitudes > limits.largest) return {};
    const long double bound =
        factor_ * value.magnitudes + limits.smallest_subnormal * value.subnormals;
    return {two_values, static_cast<double>(bound) + subnormal_slack(dtype, value.sequential), 0,
            static_cast<long double>(value.exact)};
  }

  double factor_;
  Standard standard_;
};

// One state of a scan: its inputs, step by step.
template <class T>
class Chain {
 public:
  Chain(const Case &one, std::uint64_t state)
      : one_(one), state_(state), is_varying_(one.operation.find("_var_") != std::string::npos) {
    for (std::uint64_t t = 0; t < one.dims[0]; ++t) {
      is_contracting_ = is_contracting_ && std::fabs(a(t).sequential) <= 1;
    }
  }

  std::uint64_t element(std::uint64_t t) const { return t * one_.dims[1] + state_; }
  std::uint64_t coefficient(std::uint64_t t) const { return is_varying_ ? element(t) : state_; }
  bool is_varying() const { return is_varying_; }
  bool is_contracting() const { return is_contracting_; }  // every |a| <= 1

  Value<T> a(std::uint64_t t) const { return input(0, coefficient(t)); }
  Value<T> b(std::uint64_t t) const { return input(1, coefficient(t)); }
  Value<T> x(std::uint64_t t) const { return input(2, element(t)); }
  Value<T> h0() const { return input(3, state_); }
  Value<T> h_before(std::uint64_t t) const { return t == 0 ? h0() : input(4, element(t - 1)); }
  Value<T> d_y(std::uint64_t t) const { return input(5, element(t)); }

 private:
  Value<T> input(std::size_t which, std::uint64_t index) const {
    return Value<T>(static_cast<T>(one_.inputs[which].value(index)));
  }

  const Case &one_;
  std::uint64_t state_;
  bool is_varying_;
  bool is_contracting_ = true;
};

template <class T>
Standard forward(const Case &one) {
  Outputs<T> outputs(one, {one.inputs[2].size()});
  for (std::uint64_t j = 0; j < one.dims[1]; ++j) {
    const Chain<T> chain(one, j);
    Value<T> h = chain.h0();
    for (std::uint64_t t = 0; t < one.dims[0]; ++t) {
      h = chain.a(t) * h + chain.b(t) * chain.x(t);
      outputs.put(0, chain.element(t), h, chain.is_contracting());
    }
  }
  return outputs.take();
}

template <class T>
Standard backward(const Case &one, bool is_deterministic) {
  const std::uint64_t time = one.dims[0];
  Outputs<T> outputs(one, {one.inputs[0].size(), one.inputs[1].size(), one.inputs[2].size(),
                           one.inputs[3].size()});
  for (std::uint64_t j = 0; j < one.dims[1]; ++j) {
    const Chain<T> chain(one, j);
    const bool is_bounded = chain.is_contracting();
    Value<T> from_later;
    Value<T> sum_of_a;
    Value<T> sum_of_b;
    for (std::uint64_t t = time; t-- > 0;) {
      const Value<T> g = t + 1 == time ? chain.d_y(t) : chain.d_y(t) + from_later;
      const Value<T> of_a = g * chain.h_before(t);
      const Value<T> of_b = g * chain.x(t);
      if (chain.is_varying()) {
        outputs.put(0, chain.element(t), of_a, is_bounded);
        outputs.put(1, chain.element(t), of_b, is_bounded);
      } else {
        sum_of_a = sum_of_a + of_a;
        sum_of_b = sum_of_b + of_b;
      }
      outputs.put(2, chain.element(t), g * chain.b(t), is_bounded);
      from_later = chain.a(t) * g;
    }
    if (!chain.is_varying()) {
      // In deterministic mode the order of their additions is fixed.
      outputs.put(0, j, sum_of_a, is_bounded && !is_deterministic);
      outputs.put(1, j, sum_of_b, is_bounded && !is_deterministic);
    }
    outputs.put(3, j, from_later, is_bounded);
  }
  return outputs.take();
}

}  // namespace

Standard scan_standard(const Case &one, const Outcome &, const Outcome &, const Setting &) {
  return one.dtype == TL_FLOAT32 ? forward<float>(one) : forward<double>(one);
}

Standard scan_bwd_standard(const Case &one, const Outcome &, const Outcome &,
                           const Setting &setting) {
  return one.dtype == TL_FLOAT32 ? backward<float>(one, setting.is_deterministic)
                                 : backward<double>(one, setting.is_deterministic);
}

}  // namespace torchlean::tools
