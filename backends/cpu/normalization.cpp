// Layer norm and its gradient.
#include "blocks.hpp"
#include "map.hpp"
#include "reduction.hpp"
#include "softmax.hpp"
#include "threads.hpp"

#include <torchlean/backend_arguments.hpp>

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "normalization.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fold-inl.h"

#ifndef TORCHLEAN_CPU_NORMALIZATION_ONCE
#define TORCHLEAN_CPU_NORMALIZATION_ONCE
namespace torchlean::cpu {
namespace {

template <class T>
struct LayerNorm {
  const T *gamma;
  const T *beta;
  uint64_t cols;
  double epsilon;
};

template <class T>
struct LayerNormGradient {
  const T *gamma;
  uint64_t cols;
  T cols_scale;
  T inv_cols;
};

template <class T>
struct LayerNormKernels {
  void (*layer_norm)(const LayerNorm<T> &norm, const T *x, T *y, T *normalized, T *inv_std,
                     bool stream);
  // Terms of dGamma and dBeta are added to those, row after row.
  void (*layer_norm_bwd)(const LayerNormGradient<T> &norm, uint64_t rows, const T *d_out,
                         const T *normalized, const T *inv_std, T *dx, T *d_gamma, T *d_beta);
};

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// Elements in binary64.
template <class T>
struct Widened {
  const T *x;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return hn::LoadU(d, x + i);
    } else {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), x + i));
    }
  }
  HWY_INLINE double at(uint64_t i) const { return x[i]; }
};

// x - pivot
template <class T>
struct Deviations {
  Widened<T> x;
  double pivot;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    return hn::Sub(x.at(d, i), hn::Set(d, pivot));
  }
  HWY_INLINE double at(uint64_t i) const { return x.at(i) - pivot; }
};

template <class Source>
struct Squares {
  Source of;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    const auto v = of.at(d, i);
    return hn::Mul(v, v);
  }
  HWY_INLINE double at(uint64_t i) const { return of.at(i) * of.at(i); }
};

// (x - mean) * inverse in binary64, rounded to the type of x.
template <class D>
HWY_INLINE hn::Vec<D> normalized_of(D d, hn::Vec<D> x, double mean, double inverse) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return hn::Mul(hn::Sub(x, hn::Set(d, mean)), hn::Set(d, inverse));
  } else {
#if HWY_TARGET == HWY_SCALAR
    const hn::Rebind<double, D> wide;
    const auto difference = hn::Sub(hn::PromoteTo(wide, x), hn::Set(wide, mean));
    return hn::DemoteTo(d, hn::Mul(difference, hn::Set(wide, inverse)));
#else
    const hn::Half<D> half;
    const hn::Rebind<double, decltype(half)> wide;
    const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, x));
    const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, x));
    const auto factor = hn::Set(wide, inverse);
    const auto of_low = hn::Mul(hn::Sub(low, hn::Set(wide, mean)), factor);
    const auto of_high = hn::Mul(hn::Sub(high, hn::Set(wide, mean)), factor);
    return hn::Combine(d, hn::DemoteTo(half, of_high), hn::DemoteTo(half, of_low));
#endif
  }
}

struct Moments {
  double mean;
  double variance;
};

Moments moments_of(const double *x, uint64_t n) {
  const auto count = static_cast<double>(n);
  const double mean = pairwise_sum<double>(Widened<double>{x}, n) / count;
  const Squares<Deviations<double>> squares = {{{x}, mean}};
  return {mean, pairwise_sum<double>(squares, n) / count};
}

// In one pass, around one of the elements, since squares of floats are far from overflow: its
// distance from the mean is at most sqrt(n) deviations, so that what cancels in the variance is at
// most as many roundings as there are elements.
Moments moments_of(const float *x, uint64_t n) {
  const auto count = static_cast<double>(n);
  const Deviations<float> deviations = {{x}, static_cast<double>(x[0])};
  const Two<double> sums =
      pairwise_sum<double>(Both{deviations, Squares<Deviations<float>>{deviations}}, n);
  return {deviations.pivot + sums.first / count,
          (sums.second - sums.first * (sums.first / count)) / count};
}

template <class T>
void layer_norm(const LayerNorm<T> &norm, const T *x, T *y, T *normalized, T *inv_std,
                bool stream) {
  const uint64_t bytes = norm.cols * sizeof(T);
  bring_near(x, bytes < near_bytes ? bytes : near_bytes);
  const Moments moments = moments_of(x, norm.cols);
  const double inverse = 1 / std::sqrt(moments.variance + norm.epsilon);
  *inv_std = static_cast<T>(inverse);
  each_vector<T>(norm.cols, [=](auto d, auto lanes, uint64_t i) HWY_ATTR {
    const auto v = normalized_of(d, lanes.load(d, x + i), moments.mean, inverse);
    const auto scaled_v = hn::Mul(v, lanes.load(d, norm.gamma + i));
    const auto out = hn::Add(scaled_v, lanes.load(d, norm.beta + i));
    if (stream) {
      hn::Stream(v, d, normalized + i);
      hn::Stream(out, d, y + i);
    } else {
      lanes.store(v, d, normalized + i);
      lanes.store(out, d, y + i);
    }
  });
}

// dh = dOut * gamma
template <class T>
struct ScaledGradient {
  const T *d_out;
  const T *gamma;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    return hn::Mul(hn::LoadU(d, d_out + i), hn::LoadU(d, gamma + i));
  }
  HWY_INLINE T at(uint64_t i) const { return d_out[i] * gamma[i]; }
};

// dh * normalized
template <class T>
struct ScaledProducts {
  ScaledGradient<T> dh;
  const T *normalized;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    return hn::Mul(dh.at(d, i), hn::LoadU(d, normalized + i));
  }
  HWY_INLINE T at(uint64_t i) const { return dh.at(i) * normalized[i]; }
};

template <uint64_t rows, class T>
void layer_norm_bwd_rows(const LayerNormGradient<T> &norm, const T *d_out, const T *normalized,
                         const T *inv_std, T *dx, T *d_gamma, T *d_beta) {
  const uint64_t cols = norm.cols;
  Two<T> sums[rows];  // of dh and of dh * normalized
  const uint64_t near = cols * sizeof(T) < near_bytes ? cols * sizeof(T) : near_bytes;
  for (uint64_t r = 0; r < rows; ++r) {
    bring_near(d_out + r * cols, near);
    bring_near(normalized + r * cols, near);
    const ScaledGradient<T> dh = {d_out + r * cols, norm.gamma};
    sums[r] = pairwise_sum<T>(Both{dh, ScaledProducts<T>{dh, normalized + r * cols}}, cols);
  }
  each_vector<T>(cols, [&](auto d, auto lanes, uint64_t i) HWY_ATTR {
    const auto gamma = lanes.load(d, norm.gamma + i);
    auto of_gamma = lanes.load(d, d_gamma + i);
    auto of_beta = lanes.load(d, d_beta + i);
    for (uint64_t r = 0; r < rows; ++r) {
      const auto gradient = lanes.load(d, d_out + r * cols + i);
      const auto x = lanes.load(d, normalized + r * cols + i);
      const auto scaled_dh = hn::Mul(hn::Mul(gradient, gamma), hn::Set(d, norm.cols_scale));
      const auto centred = hn::Sub(hn::Sub(scaled_dh, hn::Set(d, sums[r].first)),
                                   hn::Mul(x, hn::Set(d, sums[r].second)));
      const auto result =
          hn::Mul(hn::Mul(centred, hn::Set(d, inv_std[r])), hn::Set(d, norm.inv_cols));
      lanes.store(result, d, dx + r * cols + i);
      of_gamma = hn::Add(of_gamma, hn::Mul(gradient, x));
      of_beta = hn::Add(of_beta, gradient);
    }
    lanes.store(of_gamma, d, d_gamma + i);
    lanes.store(of_beta, d, d_beta + i);
  });
}

// Several rows side by side, so that sums over rows are taken up less often.
template <class T>
void layer_norm_bwd(const LayerNormGradient<T> &norm, uint64_t rows, const T *d_out,
                    const T *normalized, const T *inv_std, T *dx, T *d_gamma, T *d_beta) {
  uint64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const uint64_t first = r * norm.cols;
    layer_norm_bwd_rows<4>(norm, d_out + first, normalized + first, inv_std + r, dx + first,
                           d_gamma, d_beta);
  }
  for (; r < rows; ++r) {
    const uint64_t first = r * norm.cols;
    layer_norm_bwd_rows<1>(norm, d_out + first, normalized + first, inv_std + r, dx + first,
                           d_gamma, d_beta);
  }
}

}  // namespace

template <class T>
constexpr LayerNormKernels<T> layer_norm_kernels = {layer_norm<T>, layer_norm_bwd<T>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// Elements that make a piece of work.
constexpr uint64_t piece = 8192;

template <class T>
const LayerNormKernels<T> &kernels_for(const tl_instance &instance) {
  return TORCHLEAN_CPU_CHOOSE(instance.target, layer_norm_kernels<T>);
}

void layer_norm(tl_instance &instance, const tl_operand *operand, const tl_operand *factor,
                const tl_operand *offset, uint64_t rows, uint64_t cols, double epsilon, tl_flags,
                tl_storage **out) {
  expect_given("x", operand);
  check_not_empty(rows, cols);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const auto gamma = values_of<T>("gamma", factor);
    const auto beta = values_of<T>("beta", offset);
    expect_equal("x.count", x.size(), product({rows, cols}));
    expect_equal("gamma.count", gamma.size(), cols);
    expect_equal("beta.count", beta.size(), cols);

    Result<T> y(instance, x.size());
    Result<T> normalized(instance, x.size());
    Result<T> inv_std(instance, rows);
    const auto &kernels = kernels_for<T>(instance);
    const LayerNorm<T> norm = {gamma.data(), beta.data(), cols, static_cast<T>(epsilon)};
    const bool stream = exceeds_caches(2 * x.size() * sizeof(T)) && cols * sizeof(T) % 64 == 0;
    parallel_for(instance, rows, blocks_in(piece, cols), [&](uint64_t begin, uint64_t end) {
      for (uint64_t r = begin; r < end; ++r)
        kernels.layer_norm(norm, &x[r * cols], &y[r * cols], &normalized[r * cols], &inv_std[r],
                           stream);
      if (stream) hwy::FlushStream();
    });
    hand_out(out, y, normalized, inv_std);
  });
}

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

    Result<T> dx(instance, d_out.size());
    Result<T> d_gamma(instance, cols);
    Result<T> d_beta(instance, cols);
    const auto &kernels = kernels_for<T>(instance);
    const LayerNormGradient<T> norm = {gamma.data(), cols, static_cast<T>(known.cols_scale),
                                       static_cast<T>(known.inv_cols)};
    // Each group of rows adds up its own terms of dGamma and dBeta.
    constexpr uint64_t group = 32;
    const uint64_t groups = blocks_in(rows, group);
    Result<T> of_gamma(instance, groups * cols);
    Result<T> of_beta(instance, groups * cols);
    parallel_for(instance, groups, blocks_in(piece, group * cols),
                 [&](uint64_t begin, uint64_t end) {
                   std::fill(&of_gamma[begin * cols], &of_gamma[end * cols], T(0));
                   std::fill(&of_beta[begin * cols], &of_beta[end * cols], T(0));
                   for (uint64_t g = begin; g < end; ++g) {
                     const uint64_t first = g * group;
                     const uint64_t place = first * cols;
                     kernels.layer_norm_bwd(norm, std::min(group, rows - first), &d_out[place],
                                            &normalized[place], &inv_std[first], &dx[place],
                                            &of_gamma[g * cols], &of_beta[g * cols]);
                   }
                 });
    sum_middle(instance, {1, groups, cols}, false, of_gamma.begin(), d_gamma.begin());
    sum_middle(instance, {1, groups, cols}, false, of_beta.begin(), d_beta.begin());
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

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
