// Softmax and layer norm against their formulas in many digits.
#include "shapes.hpp"
#include "sums.hpp"

namespace torchlean::conformance {
namespace {

// ---- Softmax -----------------------------------------------------------------------------------

// Softmax over the entries of each group; relative error (4 + |x - max| + 2 log2 n) eps plus two
// smallest subnormals, and four more where the exponential lies below the normal range. An entry
// of -Inf beside a finite maximum is absent, with weight +0.
template <class T>
struct Softmax {
  std::vector<Number> exact, bounds;

  Softmax(const std::vector<T> &x, const Groups &groups) : exact(x.size(), 0), bounds(x.size(), 0) {
    for (const auto &group : groups) {
      T maximum = -Values<T>::inf;
      for (const std::size_t i : group) maximum = std::max(maximum, x[i]);
      Number sum = 0;
      std::size_t n = 0;
      for (const std::size_t i : group)
        if (std::isfinite(x[i])) sum += exp(Number(x[i]) - maximum), ++n;
      for (const std::size_t i : group) {
        if (!std::isfinite(x[i])) continue;
        const Number distance = Number(maximum) - x[i], power = exp(Number(0) - distance);
        exact[i] = power / sum;
        bounds[i] = exact[i] * (Number(4 + 2 * std::log2(static_cast<double>(n))) + distance) *
                        Values<T>::eps +
                    Number(power <= Number(Values<T>::normal) ? 6 : 2) * Values<T>::tiny;
      }
    }
  }
};

template <class T>
void check_softmax(Check &check, const Dims &dims, std::uint64_t axis, const std::vector<T> &x) {
  const auto middle = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const Softmax<T> oracle(
      x, axis_groups(product({dims.begin(), middle}), *middle, product({middle + 1, dims.end()})));
  check.within<T>(softmax(check.input(x), dims, axis), oracle.exact, oracle.bounds);
}

void add_softmax(Table &table) {
  for (const auto &[dims, axis] : {std::pair<Dims, std::uint64_t>{{1}, 0},
                                   {{2}, 0},
                                   {{1009}, 0},
                                   {{31, 7}, 0},
                                   {{31, 7}, 1},
                                   {{127, 129}, 1},
                                   {{2, 5, 3}, 1},
                                   {{3, 1, 4}, 1},
                                   {{3, 4, 5, 2}, 2}})
    for (const double spread : {0.01, 1.0, 10.0})
      table.add(
          TL_OP_softmax, Kind::ordinary,
          text_of(dims) + " axis " + std::to_string(axis) + ", spread " + std::to_string(spread),
          [=, dims = dims, axis = axis]<class T>(Check &check) {
            check_softmax(check, dims, axis, normal_values<T>(product(dims), 3, spread));
          });
  table.add(TL_OP_softmax, Kind::special, "weights that vanish", []<class T>(Check &check) {
    const double depth = sizeof(T) == 4 ? 95 : 730;
    check_softmax<T>(check, {4}, 0,
                     {1, static_cast<T>(1 - depth), static_cast<T>(1 - depth / 3), T(-1e30)});
  });
  table.add(TL_OP_softmax, Kind::special, "a common offset", []<class T>(Check &check) {
    for (const T offset : {T(1e4), T(-1e4), Values<T>::largest / 2}) {
      std::vector<T> x = normal_values<T>(31);
      for (T &value : x) value += offset;
      check_softmax(check, {31}, 0, x);
    }
  });
  table.add(TL_OP_softmax, Kind::special, "the largest numbers", []<class T>(Check &check) {
    constexpr T largest = Values<T>::largest;
    check.exact(softmax(check.input(std::vector<T>{-largest, -largest}), {2}, 0),
                std::vector<T>{0.5, 0.5});
  });
  table.add(TL_OP_softmax, Kind::special, "-Inf beside a finite maximum is absent",
            []<class T>(Check &check) {
              using V = Values<T>;
              check.exact(softmax(check.input(std::vector<T>{-V::inf, 2, 2}), {3}, 0),
                          std::vector<T>{0, 0.5, 0.5});
              std::vector<T> x = normal_values<T>(62);
              x[3] = x[40] = -V::inf;
              check_softmax(check, {2, 31}, 1, x);
            });
  table.add(TL_OP_softmax, Kind::special, "NaN and +Inf stay in their row",
            []<class T>(Check &check) {
              using V = Values<T>;
              for (const T value : {V::nan, V::inf}) {
                std::vector<T> x = normal_values<T>(93);
                x[40] = value;
                const auto y = download<T>(softmax(check.input(x), {3, 31}, 1));
                for (std::size_t row : {0, 2}) {
                  const auto first = static_cast<std::ptrdiff_t>(31 * row);
                  const Softmax<T> oracle({x.begin() + first, x.begin() + first + 31},
                                          axis_groups(1, 31, 1));
                  check.within<T>(std::vector<T>(y.begin() + first, y.begin() + first + 31),
                                  oracle.exact, oracle.bounds);
                }
              }
            });
  table.add(TL_OP_softmax, Kind::special, "rank 0 gives 1", []<class T>(Check &check) {
    using V = Values<T>;
    for (const T x : {T(5), T(-0.0), V::largest})
      check.exact(softmax(check.input(std::vector<T>{x}), Dims{}, 0), std::vector<T>{1});
    for (const T x : {V::inf, -V::inf, V::nan})
      check.exact(softmax(check.input(std::vector<T>{x}), Dims{}, 0), std::vector<T>{V::nan});
  });
  for (const auto &[dims, axis] :
       {std::pair<Dims, std::uint64_t>{{0}, 0}, {{0, 3}, 1}, {{3, 0}, 1}, {{3, 0}, 0}})
    table.add(TL_OP_softmax, Kind::empty, text_of(dims) + " axis " + std::to_string(axis),
              [dims = dims, axis = axis]<class T>(Check &check) {
                check.exact(softmax(check.input(std::vector<T>{}), dims, axis), std::vector<T>{});
              });
  table.refuse_operands(TL_OP_softmax, {6}, [](const Operands &x, tl_buffer **out) {
    const std::uint64_t dims[] = {2, 3};
    return tl_softmax(x[0], dims, 2, 1, out);
  });
  table.add(TL_OP_softmax, Kind::wrong, "dims and axis", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5, 6});
    const auto refuse = [&](const char *what, const Dims &dims, std::uint64_t axis) {
      check.refused(what, [&](tl_buffer **out) {
        return tl_softmax(x.get(), dims.data(), dims.size(), axis, out);
      });
    };
    refuse("an axis that is none", {2, 3}, 2);
    refuse("another product", {2, 4}, 0);
    refuse("65 axes", Dims(65, 1), 0);
  });
}

// ---- Masked softmax ----------------------------------------------------------------------------

template <class T>
void check_masked(Check &check, std::uint64_t cols, const std::vector<T> &x,
                  const std::vector<T> &mask) {
  Groups groups(x.size() / cols);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (mask[i] != 0) groups[i / cols].push_back(i);
  const Softmax<T> oracle(x, groups);
  const Buffer got =
      hard_masked_softmax_by_row(check.input(x), check.input(mask), x.size() / cols, cols);
  check.within<T>(got, oracle.exact, oracle.bounds);
  check.each<T>(got, x.size(), "blocked", [&](std::size_t i, T value) {
    return mask[i] != 0 || same(value, T(0)) ? "" : text_of(T(0));
  });
}

void add_masked_softmax(Table &table) {
  constexpr tl_operation operation = TL_OP_hard_masked_softmax_by_row;
  for (const auto &[rows, cols] :
       {std::pair<std::uint64_t, std::uint64_t>{1, 1}, {1, 1009}, {31, 7}, {129, 127}, {65537, 1}})
    for (const bool blocks : {false, true})
      table.add(operation, Kind::ordinary,
                text_of({rows, cols}) + (blocks ? ", every third blocked" : ", all allowed"),
                [rows = rows, cols = cols, blocks]<class T>(Check &check) {
                  std::vector<T> mask = normal_values<T>(rows * cols, 5);
                  for (std::size_t i = 0; blocks && i < mask.size(); i += 3) mask[i] = T(-0.0);
                  check_masked(check, cols, normal_values<T>(rows * cols, 0, 4), mask);
                });
  table.add(operation, Kind::special, "only allowed entries count", []<class T>(Check &check) {
    using V = Values<T>;
    const Buffer &scores = check.input(std::vector<T>{V::nan, 1, 5, 1, V::inf});
    const auto masked = [&](const std::vector<T> &mask) {
      return hard_masked_softmax_by_row(scores, check.input(mask), 1, 5);
    };
    check.exact(masked({0, 1, 0, V::nan, T(-0.0)}), std::vector<T>{0, 0.5, 0, 0.5, 0});
    check.exact(masked({0, 0, T(-0.0), 0, 0}), std::vector<T>(5, 0));
    check.exact(masked({1, 1, 0, 0, 0}), std::vector<T>{V::nan, V::nan, 0, 0, 0});
  });
  table.add(operation, Kind::special, "-Inf beside a finite maximum is absent",
            []<class T>(Check &check) {
              using V = Values<T>;
              check.exact(
                  hard_masked_softmax_by_row(check.input(std::vector<T>{-V::inf, 1, 1, 9}),
                                             check.input(std::vector<T>{1, 1, V::tiny, 0}), 1, 4),
                  std::vector<T>{0, 0.5, 0.5, 0});
            });
  table.add(operation, Kind::ownership, "scores are their own mask", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{0, 2, 2, 0});
    check.exact(hard_masked_softmax_by_row(x, x, 1, 4), std::vector<T>{0, 0.5, 0.5, 0});
  });
  for (const auto &[rows, cols] : {std::pair<std::uint64_t, std::uint64_t>{0, 3}, {3, 0}, {0, 0}})
    table.add(operation, Kind::empty, text_of({rows, cols}),
              [rows = rows, cols = cols]<class T>(Check &check) {
                const Buffer &none = check.input(std::vector<T>{});
                check.exact(hard_masked_softmax_by_row(none, none, rows, cols), std::vector<T>{});
              });
  table.refuse_operands(operation, {6, 6}, [](const Operands &x, tl_buffer **out) {
    return tl_hard_masked_softmax_by_row(x[0], x[1], 2, 3, out);
  });
}

// ---- Layer norm --------------------------------------------------------------------------------

template <class T>
void check_layer_norm(Check &check, std::uint64_t cols, const std::vector<T> &x, double epsilon) {
  const std::uint64_t rows = x.size() / cols;
  const auto gamma = normal_values<T>(cols, 1, 1, 5), beta = normal_values<T>(cols, 0, 1, 6);
  const LayerNorm got =
      layer_norm_fwd(check.input(x), check.input(gamma), check.input(beta), rows, cols, epsilon);
  std::vector<Number> normalized, normalized_bounds, inv_stds, inv_std_bounds;
  const Number w = Number(8) * Number(cols) * Number(0x1p-52);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::vector<T> line(x.begin() + static_cast<std::ptrdiff_t>(row * cols),
                              x.begin() + static_cast<std::ptrdiff_t>((row + 1) * cols));
    Number mean = 0, variance = 0, largest = 0;
    for (const T value : line) mean += Number(value) / cols;
    for (const T value : line) {
      variance += (Number(value) - mean) * (Number(value) - mean) / cols;
      if (largest <= abs(Number(value))) largest = abs(Number(value));
    }
    const Number inv_std = Number(1) / sqrt(variance + epsilon);
    inv_stds.push_back(inv_std);
    inv_std_bounds.push_back(ulp<T>(inv_std) + w * inv_std * (1 + largest * inv_std));
    for (const T value : line) {
      const Number exact = (Number(value) - mean) * inv_std;
      normalized.push_back(exact);
      normalized_bounds.push_back(ulp<T>(exact) + w * (1 + largest * inv_std) * (1 + abs(exact)));
    }
  }
  check.within<T>(got.normalized, normalized, normalized_bounds, "normalized");
  check.within<T>(got.inv_std, inv_stds, inv_std_bounds, "invStd");
  std::vector<T> out = download<T>(got.normalized);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T scaled = out[i] * gamma[i % cols];
    out[i] = scaled + beta[i % cols];
  }
  check.exact(got.out, out, "out");
}

void add_layer_norm(Table &table) {
  constexpr tl_operation operation = TL_OP_layer_norm_fwd;
  for (const auto &[rows, cols] : {std::pair<std::uint64_t, std::uint64_t>{1, 1},
                                   {1, 1009},
                                   {31, 2},
                                   {7, 64},
                                   {129, 33},
                                   {1009, 3}})
    for (const double offset : {0.0, 1e4, 1e8})
      table.add(operation, Kind::ordinary,
                text_of({rows, cols}) + ", offset " + std::to_string(offset),
                [rows = rows, cols = cols, offset]<class T>(Check &check) {
                  const double deviation = sizeof(T) == 4 ? 1 + offset * 1e-6 : 1;
                  check_layer_norm(check, cols, normal_values<T>(rows * cols, offset, deviation),
                                   0x1p-17);
                });
  table.add(operation, Kind::special, "equal values, no epsilon, tiny values",
            []<class T>(Check &check) {
              check_layer_norm(check, 3, std::vector<T>(6, T(0.1)), 0x1p-17);
              check_layer_norm(check, 31, normal_values<T>(62), 0);
              check_layer_norm(check, 31, normal_values<T>(62, 0, 1e-30), 0x1p-17);
            });
  table.add(operation, Kind::special, "NaN and infinities stay in their row",
            []<class T>(Check &check) {
              for (const T value : {Values<T>::nan, Values<T>::inf}) {
                std::vector<T> x = {-1, 1, 1, value, -3, 3};
                const std::vector<T> ones = {1, 1}, none = {0, 0};
                const LayerNorm got =
                    layer_norm_fwd(check.input(x), check.input(ones), check.input(none), 3, 2, 0);
                const auto y = download<T>(got.normalized);
                check.exact(std::vector<T>{y[0], y[1], y[4], y[5]}, std::vector<T>{-1, 1, -1, 1});
              }
            });
  table.has_none(operation, Kind::empty, "rows or cols of 0 is an error");
  table.refuse_operands(operation, {6, 3, 3}, [](const Operands &x, tl_buffer **out) {
    return tl_layer_norm_fwd(x[0], x[1], x[2], 2, 3, 1e-5, &out[0], &out[1], &out[2]);
  });
  table.add(operation, Kind::wrong, "no rows, no columns", []<class T>(Check &check) {
    const Buffer &none = check.input(std::vector<T>{}), &one = check.input(std::vector<T>{1});
    check.refused("no rows", [&](tl_buffer **out) {
      return tl_layer_norm_fwd(none.get(), one.get(), one.get(), 0, 1, 1e-5, &out[0], &out[1],
                               &out[2]);
    });
    check.refused("no columns", [&](tl_buffer **out) {
      return tl_layer_norm_fwd(none.get(), none.get(), none.get(), 1, 0, 1e-5, &out[0], &out[1],
                               &out[2]);
    });
  });
}

// ---- Gradients of layer norm -------------------------------------------------------------------

template <class T>
void check_layer_norm_bwd(Check &check, std::uint64_t rows, std::uint64_t cols, double spread) {
  const auto d_out = normal_values<T>(rows * cols, 0, spread, 1),
             normalized = normal_values<T>(rows * cols, 0, 1, 2),
             inv_std = normal_values<T>(rows, 1, 0.1, 3), gamma = normal_values<T>(cols, 1, 1, 4);
  const LayerNorm forward = {Buffer(), upload(std::span<const T>(normalized)),
                             upload(std::span<const T>(inv_std))};
  const LayerNormGradients got =
      layer_norm_bwd(check.input(d_out), forward, check.input(gamma), rows, cols);
  const auto scale = static_cast<T>(cols),
             inv_cols = static_cast<T>(1.0 / static_cast<double>(cols));
  const double log2_cols = std::max(1.0, std::log2(static_cast<double>(cols)));
  std::vector<Number> dx, dx_bounds, d_gamma, d_gamma_bounds, d_beta, d_beta_bounds;
  for (std::size_t row = 0; row < rows; ++row) {
    Sum<T> first, second;
    for (std::size_t i = row * cols; i < (row + 1) * cols; ++i) {
      const Number dh = Number(d_out[i]) * gamma[i % cols];
      first.add(dh);
      second.add(dh * normalized[i]);
    }
    const Number factor = Number(inv_std[row]) * inv_cols;
    for (std::size_t i = row * cols; i < (row + 1) * cols; ++i) {
      const Number dh = Number(d_out[i]) * gamma[i % cols];
      dx.push_back((dh * scale - first.value - normalized[i] * second.value) * factor);
      dx_bounds.push_back(
          (8 + 8 * Number(log2_cols)) * Values<T>::eps * abs(factor) *
          (abs(dh * scale) + first.magnitude + abs(Number(normalized[i])) * second.magnitude));
    }
  }
  for (std::size_t j = 0; j < cols; ++j) {
    Sum<T> of_gamma, of_beta;
    for (std::size_t i = j; i < rows * cols; i += cols) {
      const T term = d_out[i] * normalized[i];  // rounded in the dtype, as every step
      of_gamma.add(term);
      of_beta.add(d_out[i]);
    }
    d_gamma.push_back(of_gamma.value);
    d_gamma_bounds.push_back(of_gamma.bound(of_gamma.reduction_factor()));
    d_beta.push_back(of_beta.value);
    d_beta_bounds.push_back(of_beta.bound(of_beta.reduction_factor()));
  }
  check.within<T>(got.x, dx, dx_bounds, "dX");
  check.within<T>(got.gamma, d_gamma, d_gamma_bounds, "dGamma");
  check.within<T>(got.beta, d_beta, d_beta_bounds, "dBeta");
}

void add_layer_norm_bwd(Table &table) {
  constexpr tl_operation operation = TL_OP_layer_norm_bwd;
  for (const auto &[rows, cols] : {std::pair<std::uint64_t, std::uint64_t>{1, 1},
                                   {1, 1009},
                                   {1009, 1},
                                   {31, 7},
                                   {7, 64},
                                   {129, 33}})
    table.add(operation, Kind::ordinary, text_of({rows, cols}),
              [rows = rows, cols = cols]<class T>(Check &check) {
                check_layer_norm_bwd<T>(check, rows, cols, 1);
              });
  table.add(operation, Kind::special, "tiny and huge gradients", []<class T>(Check &check) {
    check_layer_norm_bwd<T>(check, 5, 13, 1e-30);
    check_layer_norm_bwd<T>(check, 5, 13, 1e30);
  });
  table.add(operation, Kind::special, "by hand", []<class T>(Check &check) {
    // dh = {2, 4}: 2 * dh - 6 - normalized * 2 = {0, 0}; times 2 * 0.5.
    const LayerNorm forward = {Buffer(), upload(std::span<const T>(std::vector<T>{-1, 1})),
                               upload(std::span<const T>(std::vector<T>{2}))};
    const LayerNormGradients got = layer_norm_bwd(check.input(std::vector<T>{1, 4}), forward,
                                                  check.input(std::vector<T>{2, 1}), 1, 2);
    check.either_zero(got.x, std::vector<T>{0, 0}, "dX");
    check.either_zero(got.gamma, std::vector<T>{-1, 4}, "dGamma");
    check.either_zero(got.beta, std::vector<T>{1, 4}, "dBeta");
  });
  table.has_none(operation, Kind::empty, "rows or cols of 0 is an error");
  const auto call = [](const tl_buffer *d_out, const tl_buffer *normalized,
                       const tl_buffer *inv_std, const tl_buffer *gamma, std::uint64_t rows,
                       std::uint64_t cols, tl_buffer **out) {
    return tl_layer_norm_bwd(d_out, normalized, inv_std, gamma, rows, cols, 3, 1.0 / 3, &out[0],
                             &out[1], &out[2]);
  };
  table.refuse_operands(operation, {6, 6, 2, 3}, [=](const Operands &x, tl_buffer **out) {
    return call(x[0], x[1], x[2], x[3], 2, 3, out);
  });
  table.add(operation, Kind::wrong, "no rows, no columns", [=]<class T>(Check &check) {
    const tl_buffer *none = check.input(std::vector<T>{}).get(),
                    *one = check.input(std::vector<T>{1}).get();
    check.refused("no rows",
                  [&](tl_buffer **out) { return call(none, none, none, one, 0, 1, out); });
    check.refused("no columns",
                  [&](tl_buffer **out) { return call(none, none, one, none, 1, 0, out); });
  });
}

}  // namespace

void add_normalization(Table &table) {
  add_softmax(table);
  add_masked_softmax(table);
  add_layer_norm(table);
  add_layer_norm_bwd(table);
}

}  // namespace torchlean::conformance
