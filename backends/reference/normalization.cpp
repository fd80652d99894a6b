// Softmax and layer norm.
#include "exact_sum.hpp"
#include "reference.hpp"
#include "softmax_row.hpp"

#include <torchlean/backend_arguments.hpp>

#include <vector>

namespace torchlean::reference {
namespace {

// ---- Softmax ------------------------------------------------------------------------------------

void softmax(tl_instance &instance, const tl_operand *operand, uint64_t outer, uint64_t n,
             uint64_t inner, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({outer, n, inner}));
    Result<T> y(instance, x.size());
    std::vector<T> line(x.empty() ? 0 : n);
    for (uint64_t o = 0; !x.empty() && o < outer; ++o)
      for (uint64_t i = 0; i < inner; ++i) {
        for (uint64_t k = 0; k < n; ++k) line[k] = x[(o * n + k) * inner + i];
        const SoftmaxRow<T> row(line);
        for (uint64_t k = 0; k < n; ++k)
          y[(o * n + k) * inner + i] = static_cast<T>(row.probability(line[k]));
      }
    hand_out(out, y);
  });
}

void masked_softmax(tl_instance &instance, const tl_operand *given, const tl_operand *allowed,
                    uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  expect_given("scores", given);
  with_native(given->dtype, [&]<class T>(T) {
    const auto scores = values_of<T>("scores", given);
    const auto mask = values_of<T>("mask", allowed);
    expect_equal("scores.count", scores.size(), product({rows, cols}));
    expect_equal("mask.count", mask.size(), scores.size());
    Result<T> y(instance, scores.size());
    std::vector<T> line;
    for (uint64_t start = 0; start < scores.size(); start += cols) {
      line.clear();
      for (uint64_t i = start; i < start + cols; ++i)
        if (mask[i] != 0) line.push_back(scores[i]);
      const SoftmaxRow<T> row(line);
      for (uint64_t i = start; i < start + cols; ++i)
        y[i] = mask[i] != 0 ? static_cast<T>(row.probability(scores[i])) : T(0);
    }
    hand_out(out, y);
  });
}

// ---- Layer norm ---------------------------------------------------------------------------------

template <class W, class Term>
W mean(uint64_t n, Term term) {
  CompensatedSum<W> sum;
  for (uint64_t i = 0; i < n; ++i) sum.add(term(i));
  return sum.value() / static_cast<W>(n);
}

// x - mean x. The second mean takes away what rounding left in the first, so that each difference
// is good to its own last place however large the offset that they shared.
template <class T>
std::vector<Wide<T>> centred(std::span<const T> x) {
  using W = Wide<T>;
  std::vector<W> y(x.begin(), x.end());
  for (int pass = 0; pass < 2; ++pass) {
    const W centre = mean<W>(y.size(), [&](uint64_t i) { return y[i]; });
    for (W &value : y) value -= centre;
  }
  return y;
}

void layer_norm(tl_instance &instance, const tl_operand *operand, const tl_operand *factor,
                const tl_operand *offset, uint64_t rows, uint64_t cols, double epsilon, tl_flags,
                tl_storage **out) {
  expect_given("x", operand);
  check_not_empty(rows, cols);
  with_native(operand->dtype, [&]<class T>(T) {
    using W = Wide<T>;
    const auto x = values_of<T>("x", operand);
    const auto gamma = values_of<T>("gamma", factor);
    const auto beta = values_of<T>("beta", offset);
    expect_equal("x.count", x.size(), product({rows, cols}));
    expect_equal("gamma.count", gamma.size(), cols);
    expect_equal("beta.count", beta.size(), cols);

    Result<T> y(instance, x.size());
    Result<T> normalized(instance, x.size());
    Result<T> inv_std(instance, rows);
    for (uint64_t r = 0; r < rows; ++r) {
      const auto difference = centred(x.subspan(r * cols, cols));
      const W variance = mean<W>(cols, [&](uint64_t c) { return difference[c] * difference[c]; });
      const W unrounded = 1 / std::sqrt(variance + static_cast<T>(epsilon));
      inv_std[r] = static_cast<T>(unrounded);
      for (uint64_t c = 0; c < cols; ++c) {
        const uint64_t i = r * cols + c;
        normalized[i] = static_cast<T>(difference[c] * unrounded);
        y[i] = normalized[i] * gamma[c] + beta[c];
      }
    }
    hand_out(out, y, normalized, inv_std);
  });
}

// Each step rounded in the dtype, each sum once.
void layer_norm_bwd(tl_instance &instance, const tl_operand *gradient, const tl_operand *output,
                    const tl_operand *deviation, const tl_operand *factor,
                    const tl_layer_norm_bwd_params *params, tl_flags, tl_storage **out) {
  const tl_layer_norm_bwd_params known = known_part("params", params);
  const uint64_t rows = known.rows;
  const uint64_t cols = known.cols;
  expect_given("d_out", gradient);
  check_not_empty(rows, cols);
  with_native(gradient->dtype, [&]<class T>(T) {
    const auto d_out = values_of<T>("d_out", gradient);
    const auto normalized = values_of<T>("normalized", output);
    const auto inv_std = values_of<T>("inv_std", deviation);
    const auto gamma = values_of<T>("gamma", factor);
    expect_equal("d_out.count", d_out.size(), product({rows, cols}));
    expect_equal("normalized.count", normalized.size(), d_out.size());
    expect_equal("inv_std.count", inv_std.size(), rows);
    expect_equal("gamma.count", gamma.size(), cols);
    const auto cols_scale = static_cast<T>(known.cols_scale);
    const auto inv_cols = static_cast<T>(known.inv_cols);

    Result<T> dx(instance, d_out.size());
    Result<T> d_gamma(instance, cols);
    Result<T> d_beta(instance, cols);
    ExactSum first, second;
    for (uint64_t r = 0; r < rows; ++r) {
      const auto dh = [&](uint64_t c) { return d_out[r * cols + c] * gamma[c]; };
      for (uint64_t c = 0; c < cols; ++c) {
        const T term = dh(c) * normalized[r * cols + c];
        first.add(dh(c));
        second.add(term);
      }
      const T sum_dh = first.take<T>();
      const T sum_dh_normalized = second.take<T>();
      for (uint64_t c = 0; c < cols; ++c) {
        const uint64_t i = r * cols + c;
        dx[i] = (((dh(c) * cols_scale - sum_dh) - normalized[i] * sum_dh_normalized) * inv_std[r]) *
                inv_cols;
      }
    }
    for (uint64_t c = 0; c < cols; ++c) {
      for (uint64_t i = c; i < d_out.size(); i += cols) {
        const T term = d_out[i] * normalized[i];
        first.add(term);
        second.add(d_out[i]);
      }
      d_gamma[c] = first.take<T>();
      d_beta[c] = second.take<T>();
    }
    hand_out(out, dx, d_gamma, d_beta);
  });
}

}  // namespace

const tl_normalization_table normalization_table = {
    .struct_size = sizeof(tl_normalization_table),
    .softmax = entry<"softmax", softmax>,
    .masked_softmax = entry<"masked_softmax", masked_softmax>,
    .layer_norm = entry<"layer_norm", layer_norm>,
    .layer_norm_bwd = entry<"layer_norm_bwd", layer_norm_bwd>,
};

}  // namespace torchlean::reference
