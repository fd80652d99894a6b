// scale * a * b with an honest flag (section 6 of the specification).
//
// The flag is 0 only if the error bound is certain: all values finite, no operand or product lost
// in the subnormal range, no sum near overflow. It is decided from the smallest and largest
// magnitudes of the scaled operands, and from the results.
#include "composed.hpp"
#include "kernels.hpp"
#include "matmul.hpp"

#include <ATen/ops/abs.h>
#include <ATen/ops/any.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>

#include <limits>

namespace torchlean::libtorch {
namespace {

// The bits of |x|, which order magnitudes; NaNs come last.
template <class T>
Bits<T> magnitude(T x) {
  return std::bit_cast<Bits<T>>(x) & (std::numeric_limits<Bits<T>>::max() >> 1);
}

// What is known of an array made from another one.
template <class T>
struct Survey {
  Bits<T> largest = 0;
  Bits<T> smallest_less_one = std::numeric_limits<Bits<T>>::max();  // zeros wrap to the end
  bool lost = false;  // an element is zero or subnormal though its source is not zero

  bool finite() const { return largest < magnitude(std::numeric_limits<T>::infinity()); }
  bool tiny() const {
    return has_zero || smallest_less_one + 1 < magnitude(std::numeric_limits<T>::min());
  }
  bool has_zero = false;
  long double max() const { return static_cast<long double>(std::bit_cast<T>(largest)); }
  long double min() const {
    return static_cast<long double>(std::bit_cast<T>(Bits<T>(smallest_less_one + 1)));
  }

  Survey with(const Survey &other) const {
    Survey both;
    both.largest = std::max(largest, other.largest);
    both.smallest_less_one = std::min(smallest_less_one, other.smallest_less_one);
    both.lost = lost || other.lost;
    both.has_zero = has_zero || other.has_zero;
    return both;
  }
};

template <class T>
TL_LOOP Survey<T> survey_range(const T *x, const T *source, int64_t begin, int64_t end) {
  Bits<T> largest = 0;
  Bits<T> smallest_less_one = std::numeric_limits<Bits<T>>::max();
  Bits<T> lost = 0;
  Bits<T> zeros = 0;
  for (int64_t i = begin; i < end; ++i) {
    const Bits<T> bits = magnitude(x[i]);
    largest = std::max(largest, bits);
    smallest_less_one = std::min(smallest_less_one, Bits<T>(bits - 1));
    zeros |= Bits<T>(bits == 0);
    lost |= Bits<T>(bits < magnitude(std::numeric_limits<T>::min())) &
            Bits<T>(magnitude(source[i]) != 0);
  }
  Survey<T> result;
  result.largest = largest;
  result.smallest_less_one = smallest_less_one;
  result.lost = lost != 0;
  result.has_zero = zeros != 0;
  return result;
}

template <class T>
Survey<T> survey(const at::Tensor &x, const at::Tensor &source) {
  const T *const values = x.const_data_ptr<T>();
  const T *const sources = source.const_data_ptr<T>();
  return at::parallel_reduce(
      int64_t{0}, x.numel(), cheap_grain, Survey<T>{},
      [=](int64_t begin, int64_t end, const Survey<T> &so_far) {
        return so_far.with(survey_range(values, sources, begin, end));
      },
      [](const Survey<T> &one, const Survey<T> &other) { return one.with(other); });
}

template <class T>
at::Tensor times(const tl_instance &instance, const at::Tensor &x, T factor) {
  if (instance.composed) return at::mul(x, static_cast<double>(factor));
  at::Tensor result = empty(x.numel(), scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const from = x.const_data_ptr<T>();
  each(x.numel(), [=](int64_t i) { y[i] = from[i] * factor; });
  return result;
}

// Is a product zero or subnormal although its row of a and its column of b are not zero?
template <class T>
at::Tensor vanished(const at::Tensor &values, const at::Tensor &a, const at::Tensor &b) {
  const at::Tensor tiny =
      at::lt(at::abs(values), static_cast<double>(std::numeric_limits<T>::min()));
  const at::Tensor row = at::any(at::ne(a, 0), 2, /*keepdim=*/true);
  const at::Tensor col = at::any(at::ne(b, 0), 1, /*keepdim=*/true);
  return at::any(at::logical_and(tiny, at::logical_and(row, col)));
}

// All that the flag is decided from.
template <class T>
struct Surveys {
  Survey<T> a, b, products, values;
  bool vanished;
};

// Arrays and what they were made from.
struct Arrays {
  at::Tensor a, scaled_a, b, scaled_b, products, values;
};

template <class T>
Surveys<T> surveys_by_loops(const Arrays &x, const at::Tensor &a, const at::Tensor &b) {
  Surveys<T> all{survey<T>(x.scaled_a, x.a),
                 survey<T>(x.scaled_b, x.b),
                 survey<T>(x.products, x.products),
                 {},
                 false};
  all.values = x.values.is_same(x.products) ? all.products : survey<T>(x.values, x.products);
  all.vanished =
      all.products.tiny() &&
      vanished<T>(x.products.view({a.size(0), a.size(1), b.size(2)}), a, b).template item<bool>();
  return all;
}

// The same numbers with one wait for the device.
template <class T>
Surveys<T> surveys_by_aten(const Arrays &x, const at::Tensor &a, const at::Tensor &b) {
  constexpr double least_normal = std::numeric_limits<T>::min();
  const at::Tensor matrices = x.products.view({a.size(0), a.size(1), b.size(2)});
  const at::Tensor all = at::cat({composed::survey(x.scaled_a, x.a, least_normal),
                                  composed::survey(x.scaled_b, x.b, least_normal),
                                  composed::survey(x.products, x.products, least_normal),
                                  composed::survey(x.values, x.products, least_normal),
                                  vanished<T>(matrices, a, b).to(at::kDouble).view({1})})
                             .cpu();
  const double *number = all.const_data_ptr<double>();
  const auto next = [&] {
    Survey<T> result;
    result.largest = magnitude(static_cast<T>(number[0]));
    result.smallest_less_one = Bits<T>(magnitude(static_cast<T>(number[1])) - 1);
    result.has_zero = number[2] != 0;
    result.lost = number[3] != 0;
    number += 4;
    return result;
  };
  const Survey<T> in_a = next(), in_b = next(), in_products = next(), in_values = next();
  return {in_a, in_b, in_products, in_values, *number != 0};
}

// Do all products and sums of products stay in the normal range, with a factor of 2 to spare? A
// long double holds them, or becomes infinite or zero, which is no.
template <class T>
bool products_are_normal(const Survey<T> &a, const Survey<T> &b, int64_t n, double scale) {
  if (a.largest == 0 || b.largest == 0) return true;
  const long double growth = std::max(1.0L, std::fabs(static_cast<long double>(scale)));
  return static_cast<long double>(n) * a.max() * b.max() * growth <=
             std::numeric_limits<T>::max() / 2 &&
         a.min() * b.min() >= 2 * static_cast<long double>(std::numeric_limits<T>::min());
}

}  // namespace

template <class T>
ScaledProduct scaled_product(const tl_instance &instance, const ProductLayout &layout,
                             const at::Tensor &a, const at::Tensor &b, double scale) {
  // For |scale| <= 1 both operands take the root, so that a product that would overflow before it
  // is scaled does not.
  const bool before = std::fabs(scale) <= 1;
  const T root = static_cast<T>(std::sqrt(std::fabs(scale)));
  const T factor = static_cast<T>(scale);
  const at::Tensor left = before ? times(instance, a, root) : a;
  const at::Tensor right = before ? times(instance, b, std::copysign(root, factor)) : b;
  const at::Tensor a_matrix = layout.left(left);
  const at::Tensor b_matrix = layout.right(right);
  const at::Tensor products = product(instance, a_matrix, b_matrix).view(-1);
  const at::Tensor values = before ? products : times(instance, products, factor);

  const Arrays arrays = {a, left, b, right, products, values};
  const Surveys<T> in =
      (instance.composed ? surveys_by_aten<T> : surveys_by_loops<T>)(arrays, a_matrix, b_matrix);
  const T used = before ? root : factor;
  const bool replay =
      !std::isfinite(used) || (scale != 0 && std::fabs(used) < std::numeric_limits<T>::min()) ||
      !in.a.finite() || !in.b.finite() || !in.products.finite() || !in.values.finite() ||
      in.a.lost || in.b.lost || (!before && in.values.lost) ||
      !products_are_normal(in.a, in.b, layout.n(), before ? 1 : scale) || in.vanished;
  return {values, replay};
}

template ScaledProduct scaled_product<float>(const tl_instance &, const ProductLayout &,
                                             const at::Tensor &, const at::Tensor &, double);
template ScaledProduct scaled_product<double>(const tl_instance &, const ProductLayout &,
                                              const at::Tensor &, const at::Tensor &, double);

}  // namespace torchlean::libtorch
