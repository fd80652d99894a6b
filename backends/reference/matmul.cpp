// Matrix products whose every element is an exact dot product, rounded once.
#include "exact_sum.hpp"
#include "reference.hpp"

#include <torchlean/backend_arguments.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace torchlean::reference {
namespace {

// c[b, i, j] = sum over k of a[b, i, k] * b[b, k, j], whichever way the operands are stored.
template <class T>
void multiply(const tl_bmm_params &shape, const T *a, const T *b, T *c) {
  const auto [size, batch, m, n, p, transpose_a, transpose_b] = shape;
  ExactSum sum;
  for (uint64_t s = 0; s < batch; ++s)
    for (uint64_t i = 0; i < m; ++i)
      for (uint64_t j = 0; j < p; ++j) {
        for (uint64_t k = 0; k < n; ++k)
          sum.add_product(a[transpose_a ? (s * n + k) * m + i : (s * m + i) * n + k],
                          b[transpose_b ? (s * p + j) * n + k : (s * n + k) * p + j]);
        c[(s * m + i) * p + j] = sum.take<T>();
      }
}

void bmm(tl_instance &instance, const tl_operand *first, const tl_operand *second,
         const tl_bmm_params *params, tl_flags, tl_storage **out) {
  expect_given("a", first);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    const tl_bmm_params shape = known_bmm(params, a.size(), b.size());
    Result<T> c(instance, shape.batch * shape.m * shape.p);
    multiply(shape, a.data(), b.data(), c.begin());
    hand_out(out, c);
  });
}

// ---- bmm_scaled ---------------------------------------------------------------------------------

// Has rounding spoilt a value: is it nonfinite, or zero or subnormal although its source is not
// zero?
template <class T, class Source>
bool spoilt(T value, Source source) {
  return !std::isfinite(value) || (source != 0 && !std::isnormal(value));
}

// An operand times a factor.
template <class T>
struct Scaled {
  Scaled(std::span<const T> operand, T factor)
      : values(operand.size()), magnitudes(operand.size()) {
    for (uint64_t i = 0; i < operand.size(); ++i) {
      values[i] = operand[i] * factor;
      magnitudes[i] = std::fabs(values[i]);
      if (magnitudes[i] > 0) smallest = std::min(smallest, magnitudes[i]);
      replay = replay || spoilt(values[i], operand[i]);
    }
  }
  std::vector<T> values;
  std::vector<T> magnitudes;
  T smallest = std::numeric_limits<T>::infinity();  // of the magnitudes that are not zero
  bool replay = false;
};

// A scale that makes the operands smaller is spread over both, so that a product that overflows
// before it is scaled still comes out finite; any other is multiplied in afterwards.
void bmm_scaled(tl_instance &instance, const tl_operand *first, const tl_operand *second,
                const tl_bmm_params *params, double scale, tl_flags, tl_storage **out,
                uint32_t *out_replay) {
  expect_given("a", first);
  expect_given("out_replay", out_replay);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    const tl_bmm_params shape = known_bmm(params, a.size(), b.size());

    const bool spread = std::fabs(scale) <= 1;
    const T root = spread ? static_cast<T>(std::sqrt(std::fabs(scale))) : T(1);
    const T after = spread ? T(1) : static_cast<T>(scale);
    const Scaled<T> x(a, root);
    const Scaled<T> y(b, spread ? std::copysign(root, static_cast<T>(scale)) : root);

    Result<T> c(instance, shape.batch * shape.m * shape.p);
    multiply(shape, x.values.data(), y.values.data(), c.begin());
    std::vector<T> bounds(shape.batch * shape.m * shape.p);
    multiply(shape, x.magnitudes.data(), y.magnitudes.data(), bounds.data());

    bool replay = x.replay || y.replay || spoilt(root, scale) || spoilt(after, scale) ||
                  x.smallest * y.smallest < std::numeric_limits<T>::min();
    for (uint64_t i = 0; i < bounds.size(); ++i) {
      const T product = c[i];
      c[i] = product * after;
      replay =
          replay || !std::isfinite(product) || !std::isfinite(bounds[i]) || spoilt(c[i], bounds[i]);
    }
    hand_out(out, c);
    *out_replay = replay ? 1 : 0;
  });
}

void dgemm(tl_instance &, const double *a, const double *b, uint64_t m, uint64_t n, uint64_t p,
           double *out) {
  if (n > 0) {
    expect_given("a", a);
    expect_given("b", b);
  }
  expect_given("out", out);
  multiply<double>({sizeof(tl_bmm_params), 1, m, n, p, 0, 0}, a, b, out);
}

}  // namespace

const tl_matmul_table matmul_table = {
    .struct_size = sizeof(tl_matmul_table),
    .bmm = entry<"bmm", bmm>,
    .bmm_scaled = entry<"bmm_scaled", bmm_scaled>,
    .dgemm = entry<"dgemm", dgemm>,
};

}  // namespace torchlean::reference
