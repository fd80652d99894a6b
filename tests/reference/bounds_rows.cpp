// How much of their bounds softmax, layer norm and the losses use.
#include "bounds_search.hpp"

namespace torchlean::test {
namespace {

// ---- Softmax of one row, in 400 digits ----------------------------------------------------------

template <class T>
struct Row {
  explicit Row(const std::vector<T> &x) : max(*std::max_element(x.begin(), x.end())) {
    for (const T value : x) {
      weight.push_back(exp(Number(value) - max));
      sum += weight.back();
    }
    const Number log_sum = log(sum);
    for (size_t j = 0; j < x.size(); ++j) {
      weight[j] = weight[j] / sum;
      below_max.push_back(Number(max) - x[j]);
      distance.push_back(below_max[j] + log_sum);
    }
  }
  T max;
  Number sum = 0;
  std::vector<Number> weight, below_max, distance;  // softmax, |x - max|, d of section 7
};

template <class T>
std::vector<T> part(const std::vector<T> &x, uint64_t start, uint64_t n) {
  return {x.begin() + static_cast<ptrdiff_t>(start), x.begin() + static_cast<ptrdiff_t>(start + n)};
}

// Where x - max or a difference of two of them leaves the dtype, other rules hold.
template <class T>
bool is_judged(const std::vector<T> &x) {
  return std::all_of(x.begin(), x.end(),
                     [](T v) { return std::fabs(v) < std::numeric_limits<T>::max() / 4; });
}

double scale_of_scores(Random &random) { return std::exp2(uniform(random, -20, 6)); }

template <class T>
Number weight_bound(const Number &weight, const Number &distance, uint64_t n) {
  return Number(eps<T>) * weight * (distance + 4 + 2 * std::log2(static_cast<double>(n))) +
         Number(2) * std::numeric_limits<T>::denorm_min();
}

struct Softmax {
  static constexpr const char *name = "softmax";
  static constexpr const char *bound = "relative (4 + |x - max| + 2 log2 n) eps";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {}, {values<T>(random, length(random, 60), scale_of_scores(random))}};
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto &x = c.inputs[0];
    Share<T> share;
    if (!is_judged(x)) return share;
    const auto y = call<T>(backend, c.inputs, {x.size()}, [&](auto in, auto out) {
      return backend.table->normalization->softmax(backend.instance, in[0], 1, x.size(), 1, 0, out);
    })[0];
    const Row<T> row(x);
    for (size_t j = 0; j < x.size(); ++j)
      share.add(y[j], row.weight[j], weight_bound<T>(row.weight[j], row.below_max[j], x.size()));
    return share;
  }
};

struct MaskedSoftmax {
  static constexpr const char *name = "hard_masked_softmax_by_row";
  static constexpr const char *bound = Softmax::bound;

  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t n = length(random, 60);
    std::vector<T> mask(n);
    for (T &value : mask) value = chance(random, 0.6) ? T(1) : T(0);
    return {{}, {}, {values<T>(random, n, scale_of_scores(random)), mask}};
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto &x = c.inputs[0], &mask = c.inputs[1];
    std::vector<T> allowed;
    for (size_t j = 0; j < x.size(); ++j)
      if (mask[j] != 0) allowed.push_back(x[j]);
    Share<T> share;
    if (!is_judged(x) || allowed.empty()) return share;
    const auto y = call<T>(backend, c.inputs, {x.size()}, [&](auto in, auto out) {
      return backend.table->normalization->masked_softmax(backend.instance, in[0], in[1], 1,
                                                          x.size(), 0, out);
    })[0];
    const Row<T> row(allowed);
    size_t k = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      if (mask[j] == 0) {
        if (!same(y[j], T(0))) share.fail();
        continue;
      }
      share.add(y[j], row.weight[k],
                weight_bound<T>(row.weight[k], row.below_max[k], allowed.size()));
      ++k;
    }
    return share;
  }
};

// ---- Losses -------------------------------------------------------------------------------------

template <tl_loss_op op>
struct Loss {
  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t rows = length(random, 4), cols = length(random, 20);
    const double scale = scale_of_scores(random);
    const double targets = op == TL_LOSS_CROSS_ENTROPY ? 1 : scale_of_scores(random);
    return {{rows, cols},
            {},
            {values<T>(random, rows * cols, scale), values<T>(random, rows * cols, targets)}};
  }

  // Calls visit(student row, teacher row, first element) for each row, if all rows are judged.
  template <class T, class Visit>
  static void each_row(const Case<T> &c, Visit visit) {
    const uint64_t rows = c.sizes[0], cols = c.sizes[1];
    for (const auto &input : c.inputs)
      if (!is_judged(input)) return;
    for (uint64_t r = 0; r < rows; ++r)
      visit(Row<T>(part(c.inputs[0], r * cols, cols)), Row<T>(part(c.inputs[1], r * cols, cols)),
            r * cols);
  }

  template <class T>
  static std::vector<T> computed(Backend &backend, const Case<T> &c, uint64_t count) {
    return call<T>(backend, c.inputs, {count}, [&](auto in, auto out) {
      return backend.table->loss->loss(backend.instance, op, in[0], in[1], c.sizes[0], c.sizes[1],
                                       0, out);
    })[0];
  }
};

struct CrossEntropy : Loss<TL_LOSS_CROSS_ENTROPY> {
  static constexpr const char *name = "cross_entropy";
  static constexpr const char *bound = "(16 + 2 log2 n) eps sum |w| (|d| + 1) / rows";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const double factor = (16 + 2 * std::log2(static_cast<double>(c.inputs[0].size()))) * eps<T>;
    Number exact = 0, bound_value = 0;
    each_row(c, [&](const Row<T> &row, const Row<T> &, uint64_t start) {
      for (uint64_t j = 0; j < c.sizes[1]; ++j) {
        const Number w = c.inputs[1][start + j];
        exact += w * row.distance[j] / c.sizes[0];
        bound_value += Number(factor) * abs(w) * (row.distance[j] + 1) / c.sizes[0];
      }
    });
    Share<T> share;
    if (!(bound_value <= 0) && fits<T>(bound_value / factor))
      share.add(computed(backend, c, 1)[0], exact, bound_value);
    return share;
  }
};

struct Distillation : Loss<TL_LOSS_DISTILLATION> {
  static constexpr const char *name = "distillation, scalar";
  static constexpr const char *bound = "eps sum p (16 + e + 2 log2 n) (|d| + 1) / rows";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const double fixed = 16 + 2 * std::log2(static_cast<double>(c.inputs[0].size()));
    Number exact = 0, bound_value = 0;
    each_row(c, [&](const Row<T> &student, const Row<T> &teacher, uint64_t) {
      for (uint64_t j = 0; j < c.sizes[1]; ++j) {
        exact += teacher.weight[j] * student.distance[j] / c.sizes[0];
        bound_value += (Number(eps<T>) * teacher.weight[j] * (teacher.below_max[j] + fixed) +
                        underflow<T>(teacher.weight[j])) *
                       (student.distance[j] + 1) / c.sizes[0];
      }
    });
    Share<T> share;
    if (!(bound_value <= 0)) share.add(computed(backend, c, 1)[0], exact, bound_value);
    return share;
  }
};

struct DistillationGradient : Loss<TL_LOSS_DISTILLATION_GRADIENT> {
  static constexpr const char *name = "distillation, gradient";
  static constexpr const char *bound =
      "eps (q (6 + |s - max| + 2 log2 cols) + p (6 + e + 2 log2 cols)) / rows";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const double fixed = 6 + 2 * std::log2(static_cast<double>(c.sizes[1]));
    const auto y = computed(backend, c, c.inputs[0].size());
    Share<T> share;
    each_row(c, [&](const Row<T> &student, const Row<T> &teacher, uint64_t start) {
      for (uint64_t j = 0; j < c.sizes[1]; ++j) {
        const Number &q = student.weight[j], &p = teacher.weight[j];
        share.add(
            y[start + j], (q - p) / c.sizes[0],
            Number(eps<T>) *
                    (q * (student.below_max[j] + fixed) + p * (teacher.below_max[j] + fixed)) /
                    c.sizes[0] +
                Number(2) * std::numeric_limits<T>::denorm_min());
      }
    });
    return share;
  }
};

// ---- Layer norm ---------------------------------------------------------------------------------

// One row; which result is judged tells its two operations apart.
template <bool normalized>
struct LayerNorm {
  // Often beside an offset that takes most of the digits away.
  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t cols = length(random, 60);
    auto x = values<T>(random, cols, std::exp2(uniform(random, -10, 10)));
    const double offset =
        chance(random, 0.5) ? 0 : std::exp2(uniform(random, 0, sizeof(T) == 4 ? 40 : 60));
    for (T &value : x) value = static_cast<T>(value + offset);
    return {{}, {std::exp2(uniform(random, -40, 0))}, {x}};
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto &x = c.inputs[0];
    const uint64_t cols = x.size();
    auto inputs = c.inputs;
    inputs.emplace_back(cols, T(1));
    inputs.emplace_back(cols, T(0));
    const auto y = call<T>(backend, inputs, {cols, cols, 1}, [&](auto in, auto out) {
      return backend.table->normalization->layer_norm(backend.instance, in[0], in[1], in[2], 1,
                                                      cols, c.scalars[0], 0, out);
    });

    Number mean = 0, variance = 0, largest = 0;
    for (const T value : x) {
      mean += Number(value) / cols;
      if (!(abs(Number(value)) <= largest)) largest = abs(Number(value));
    }
    for (const T value : x) variance += (value - mean) * (value - mean) / cols;
    const Number inv_std = Number(1) / sqrt(variance + static_cast<T>(c.scalars[0]));
    const Number unit = Number(static_cast<double>(cols) * 0x1p-52);
    Share<T> share;
    if (!(unit * largest * inv_std <= Number(0.125))) return share;
    const Number common = Number(8) * unit * (Number(1) + largest * inv_std);
    if constexpr (normalized)
      for (uint64_t i = 0; i < cols; ++i) {
        const Number exact = (x[i] - mean) * inv_std;
        share.add(y[1][i], exact, ulp<T>(exact) + common * (Number(1) + abs(exact)));
      }
    else
      share.add(y[2][0], inv_std, ulp<T>(inv_std) + common * inv_std);
    return share;
  }
};

struct LayerNormNormalized : LayerNorm<true> {
  static constexpr const char *name = "layer_norm_fwd, normalized";
  static constexpr const char *bound = "1 ulp + 8 cols w (1 + M invStd) (1 + |normalized|)";
};
struct LayerNormInvStd : LayerNorm<false> {
  static constexpr const char *name = "layer_norm_fwd, invStd";
  static constexpr const char *bound = "1 ulp + 8 cols w invStd (1 + M invStd)";
};

struct LayerNormGradient {
  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t rows = length(random, 20), cols = length(random, 20);
    return {{rows, cols},
            {static_cast<double>(cols), 1 / static_cast<double>(cols)},
            {values<T>(random, rows * cols), values<T>(random, rows * cols),
             values<T>(random, rows), values<T>(random, cols)}};
  }

  // dX, dGamma, dBeta
  template <class T>
  static std::vector<std::vector<T>> computed(Backend &backend, const Case<T> &c) {
    const uint64_t rows = c.sizes[0], cols = c.sizes[1];
    const tl_layer_norm_bwd_params params = {sizeof params, rows, cols, c.scalars[0], c.scalars[1]};
    return call<T>(backend, c.inputs, {rows * cols, cols, cols}, [&](auto in, auto out) {
      return backend.table->normalization->layer_norm_bwd(backend.instance, in[0], in[1], in[2],
                                                          in[3], &params, 0, out);
    });
  }
};

struct LayerNormDx : LayerNormGradient {
  static constexpr const char *name = "layer_norm_bwd, dX";
  static constexpr const char *bound =
      "(8 + 8 max(1, log2 cols)) eps (|dh colsScale| + sum |dh| + |normalized| sum |dh normalized|)"
      " |invStd invCols|";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t rows = c.sizes[0], cols = c.sizes[1];
    const Number cols_scale = static_cast<T>(c.scalars[0]), inv_cols = static_cast<T>(c.scalars[1]);
    const auto y = computed(backend, c)[0];
    Share<T> share;
    if (!c.moderate()) return share;
    for (uint64_t r = 0; r < rows; ++r) {
      const auto dh = [&](uint64_t j) {
        return Number(c.inputs[0][r * cols + j]) * c.inputs[3][j];
      };
      const auto normalized = [&](uint64_t j) { return Number(c.inputs[1][r * cols + j]); };
      Sum first, second;
      for (uint64_t j = 0; j < cols; ++j) {
        first.add(dh(j));
        second.add(dh(j) * normalized(j));
      }
      const Number factor = Number(c.inputs[2][r]) * inv_cols;
      for (uint64_t j = 0; j < cols; ++j)
        share.add(y[r * cols + j],
                  (dh(j) * cols_scale - first.value - normalized(j) * second.value) * factor,
                  Number((8 + 8 * log2_of(cols)) * eps<T>) *
                      (abs(dh(j) * cols_scale) + first.magnitude +
                       abs(normalized(j)) * second.magnitude) *
                      abs(factor));
    }
    return share;
  }
};

struct LayerNormParameters : LayerNormGradient {
  static constexpr const char *name = "layer_norm_bwd, dGamma and dBeta";
  static constexpr const char *bound = "a sum's, over the rounded products";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t rows = c.sizes[0], cols = c.sizes[1];
    const auto y = computed(backend, c);
    Share<T> share;
    if (!c.moderate()) return share;
    for (uint64_t j = 0; j < cols; ++j) {
      Sum gamma, beta;
      for (uint64_t i = j; i < rows * cols; i += cols) {
        const T term = c.inputs[0][i] * c.inputs[1][i];
        gamma.add(term);
        beta.add(c.inputs[0][i]);
      }
      share.add(y[1][j], gamma.value, sum_bound<T>(gamma));
      share.add(y[2][j], beta.value, sum_bound<T>(beta));
    }
    return share;
  }
};

}  // namespace

std::vector<Search> row_searches() {
  return searches<Softmax, MaskedSoftmax, LayerNormNormalized, LayerNormInvStd, LayerNormDx,
                  LayerNormParameters, CrossEntropy, Distillation, DistillationGradient>();
}

}  // namespace torchlean::test
