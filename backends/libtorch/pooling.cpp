// Pools: the largest entry of a window, the average, the smooth maximum; and their gradients.
//
// On the host the first two are ATen's, which give the specified values. Smooth maxima, windows
// that ATen does not take, sums of so many gradients that adding them one after the other is too
// inexact, and other devices, where ATen adds gradients in no certain order: there all windows are
// treated at once, tap by tap.
#include "cascade.hpp"
#include "elementary.hpp"
#include "windows.hpp"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool2d_backward.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/avg_pool3d_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/max_pool3d_with_indices_backward.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <functional>
#include <limits>

namespace torchlean::libtorch {
namespace {

// ---- Sizes --------------------------------------------------------------------------------------

// So that every window holds an entry.
bool has_windows(const WindowAxis &axis) {
  return axis.positions > 0 && axis.before <= axis.taps / 2;
}

Windows checked_windows(const tl_pooling_params &params) {
  std::array<WindowAxis, 3> axes{};
  for (size_t i = 0; i < 3; ++i) {
    axes[i] = {.windows = params.out[i],
               .taps = params.kernel[i],
               .positions = params.in[i],
               .stride = params.stride[i],
               .dilation = 1,
               .before = params.padding[i],
               .after = params.padding[i]};
    if (params.padding[i] < 0)
      throw invalid("params.padding[" + std::to_string(i) + "] is " +
                    std::to_string(params.padding[i]) + ", expected at least 0");
    axes[i].check_windows(i, has_windows(axes[i]));
  }
  return Windows(axes);
}

struct Geometry {
  Geometry(tl_pooling_op op, const tl_pooling_params *given)
      : params(known_pooling(op, given)),
        windows(checked_windows(params)),
        channels(extent("params.channels", params.channels)) {
    for (const int64_t taps : params.kernel) volume_of_window *= static_cast<double>(taps);
  }

  // (channel, place...)
  std::array<int64_t, 4> on_windows() const { return shape(params.out); }
  std::array<int64_t, 4> on_positions() const { return shape(params.in); }
  at::Tensor input(const tl_operand *operand, tl_dtype dtype) const {
    const auto &in = params.in;
    return shaped_operand("input", operand, dtype, {channels, in[0], in[1], in[2]});
  }
  at::Tensor gradient(const tl_operand *operand, tl_dtype dtype) const {
    const auto &out = params.out;
    return shaped_operand("gradient", operand, dtype, {channels, out[0], out[1], out[2]});
  }

  const tl_pooling_params params;
  const Windows windows;
  const int64_t channels;
  double volume_of_window = 1;  // its padding included

 private:
  std::array<int64_t, 4> shape(const int64_t (&of)[3]) const {
    volume("output", {channels, of[0], of[1], of[2]});
    return {channels, of[0], of[1], of[2]};
  }
};

// ---- By ATen ------------------------------------------------------------------------------------

bool aten_computes(const tl_instance &instance, tl_pooling_op op, const Geometry &at) {
  if (instance.composed || !at.windows.fit_aten()) return false;
  // Its averages over three axes want inputs as large as a window, whatever the padding.
  if (op != TL_POOLING_AVERAGE || at.windows.skipped_axes() > 0) return true;
  return std::equal(at.params.in, at.params.in + 3, at.params.kernel, std::greater_equal<>());
}

// Windows that may lie on one position: as many gradients ATen adds one after the other.
bool overlap_little(const Windows &windows) {
  constexpr int64_t bounded = 64;  // 63 roundings are within 8 * log2(64) * eps
  int64_t overlapping = 1;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t along =
        std::min(windows[i].windows, (windows[i].taps - 1) / windows[i].stride + 1);
    if (along > bounded) return false;
    overlapping *= along;
  }
  return overlapping <= bounded;
}

struct AtenArguments {
  explicit AtenArguments(const Geometry &at) {
    for (size_t i = at.windows.skipped_axes(); i < 3; ++i) {
      kernel.push_back(at.params.kernel[i]);
      stride.push_back(at.params.stride[i]);
      padding.push_back(at.params.padding[i]);
    }
  }

  bool has_two_axes() const { return kernel.size() == 2; }
  at::Tensor places(const at::Tensor &x) const { return has_two_axes() ? x.squeeze(1) : x; }

  std::vector<int64_t> kernel, stride, padding;
};

// The largest entries and where they lie.
std::tuple<at::Tensor, at::Tensor> atens_maxima(const Geometry &at, const at::Tensor &x) {
  const AtenArguments to(at);
  return (to.has_two_axes() ? at::max_pool2d_with_indices : at::max_pool3d_with_indices)(
      to.places(x), to.kernel, to.stride, to.padding, 1, false);
}

at::Tensor atens_maxima_gradient(const Geometry &at, const at::Tensor &x, const at::Tensor &g) {
  const AtenArguments to(at);
  return (to.has_two_axes() ? at::max_pool2d_with_indices_backward
                            : at::max_pool3d_with_indices_backward)(
      to.places(g), to.places(x), to.kernel, to.stride, to.padding, 1, false,
      std::get<1>(atens_maxima(at, x)));
}

at::Tensor atens_averages(const Geometry &at, const at::Tensor &x) {
  const AtenArguments to(at);
  return (to.has_two_axes() ? at::avg_pool2d : at::avg_pool3d)(
      to.places(x), to.kernel, to.stride, to.padding, false, true, std::nullopt);
}

// ATen looks at the input's sizes only.
at::Tensor atens_averages_gradient(const Geometry &at, const at::Tensor &g) {
  const AtenArguments to(at);
  const at::Tensor x = at::zeros({1}, g.options()).expand(at.on_positions());
  return (to.has_two_axes() ? at::avg_pool2d_backward : at::avg_pool3d_backward)(
      to.places(g), to.places(x), to.kernel, to.stride, to.padding, false, true, std::nullopt);
}

// ---- Maxima by taps -----------------------------------------------------------------------------

struct Maxima {
  at::Tensor values;
  at::Tensor taps;  // the how-manieth tap holds them
};

// The last NaN wins, else the first of those that tie.
Maxima maxima_by_taps(const Geometry &at, const at::Tensor &x) {
  Maxima best{at::zeros(at.on_windows(), x.options()),
              at::full(at.on_windows(), -1, x.options().dtype(at::kLong))};
  int64_t tap_index = 0;
  at.windows.each_tap([&](const Tap &tap) {
    const at::Tensor entry = at.windows.on_positions(x, tap);
    const at::Tensor value = at.windows.on_windows(best.values, tap);
    const at::Tensor index = at.windows.on_windows(best.taps, tap);
    const at::Tensor better = entry.gt(value).logical_or_(entry.isnan()).logical_or_(index.lt(0));
    value.copy_(at::where(better, entry, value));
    index.masked_fill_(better, tap_index++);
  });
  return best;
}

at::Tensor maxima_gradient_by_taps(const Geometry &at, const at::Tensor &x, const at::Tensor &g) {
  const Maxima best = maxima_by_taps(at, x);
  Cascade sums(at.on_positions(), g.options());
  int64_t tap_index = 0;
  at.windows.each_tap([&](const Tap &tap) {
    const at::Tensor is_best = at.windows.on_windows(best.taps, tap).eq(tap_index++);
    at.windows.on_positions(sums.open(), tap)
        .add_(at::where(is_best, at.windows.on_windows(g, tap), 0));
    sums.close();
  });
  return sums.total();
}

// ---- Averages by taps ---------------------------------------------------------------------------

at::Tensor averages_by_taps(const Geometry &at, const at::Tensor &x) {
  at::Tensor sums = at::zeros(at.on_windows(), x.options());
  at.windows.each_tap([&](const Tap &tap) {
    at.windows.on_windows(sums, tap).add_(at.windows.on_positions(x, tap));
  });
  return sums.div_(at.volume_of_window);
}

at::Tensor averages_gradient_by_taps(const Geometry &at, const at::Tensor &g) {
  at::Tensor sums = at::zeros(at.on_positions(), g.options());
  at.windows.each_tap([&](const Tap &tap) {
    at.windows.on_positions(sums, tap).add_(at.windows.on_windows(g, tap));
  });
  return sums.div_(at.volume_of_window);
}

// ---- Smooth maxima ------------------------------------------------------------------------------

// For every window the number of its taps that lie in the padding.
at::Tensor padding_of(const Geometry &at) {
  at::Tensor inside = at::full({1, 1, 1}, 1, at::kDouble);
  for (size_t i = 0; i < 3; ++i) {
    const WindowAxis &axis = at.windows[i];
    at::Tensor along = empty(axis.windows, at::kDouble);
    double *const count = along.mutable_data_ptr<double>();
    for (int64_t w = 0; w < axis.windows; ++w) {
      const int64_t start = w * axis.stride - axis.before;
      const int64_t first = std::max<int64_t>(0, -start);
      count[w] = static_cast<double>(std::min(axis.taps, axis.positions - start) - first);
    }
    std::array<int64_t, 3> shape{1, 1, 1};
    shape[i] = axis.windows;
    inside = inside.mul(along.view(shape));
  }
  return inside.neg_().add_(at.volume_of_window);
}

// (1/beta) log sum exp(beta x) over the entries of each window, those in the padding being zeros.
class SmoothMaxima {
 public:
  SmoothMaxima(const tl_instance &instance, const Geometry &at, const at::Tensor &x);

  at::Tensor values() const;
  at::Tensor gradient(const at::Tensor &g) const;

 private:
  // exp(beta * (entry - pivot)), dense.
  at::Tensor exponentials(const at::Tensor &entries, const at::Tensor &pivots) const {
    at::Tensor y = entries.sub(pivots).mul_(beta_).contiguous();
    elementary_in_place(instance_, Elementary::exp, y);
    return y;
  }

  const tl_instance &instance_;
  const Geometry &at_;
  at::Tensor x_;
  double beta_;
  at::Tensor pivots_;  // the entries that maximise beta * x; multiplying first could overflow
  at::Tensor sums_;
};

SmoothMaxima::SmoothMaxima(const tl_instance &instance, const Geometry &at, const at::Tensor &x)
    : instance_(instance), at_(at), x_(x), beta_(at.params.beta) {
  const Windows &windows = at.windows;
  const at::Tensor padding = padding_of(at).to(x.options()).expand(at.on_windows());
  const double least = std::copysign(std::numeric_limits<double>::infinity(), -beta_);
  pivots_ = at::where(padding.gt(0), at::zeros({}, x.options()), at::full({}, least, x.options()));
  windows.each_tap([&](const Tap &tap) {
    const at::Tensor entry = windows.on_positions(x, tap);
    const at::Tensor pivot = windows.on_windows(pivots_, tap);
    const at::Tensor better = (beta_ > 0 ? entry.gt(pivot) : entry.lt(pivot));
    pivot.copy_(at::where(better.logical_or(entry.isnan()), entry, pivot));
  });

  Cascade sums(at.on_windows(), x.options());
  sums.open().copy_(
      at::where(padding.gt(0), exponentials(at::zeros({}, x.options()), pivots_).mul_(padding), 0));
  sums.close();
  windows.each_tap([&](const Tap &tap) {
    windows.on_windows(sums.open(), tap)
        .add_(exponentials(windows.on_positions(x, tap), windows.on_windows(pivots_, tap)));
    sums.close();
  });
  sums_ = sums.total();
}

// An infinite pivot is the value: finite entries add nothing to it.
at::Tensor SmoothMaxima::values() const {
  at::Tensor logarithms = sums_.clone();
  elementary_in_place(instance_, Elementary::log, logarithms);
  return at::where(pivots_.isinf(), pivots_, logarithms.div_(beta_).add_(pivots_));
}

// Each window's gradient times the entry's weight in it.
at::Tensor SmoothMaxima::gradient(const at::Tensor &g) const {
  const Windows &windows = at_.windows;
  Cascade sums(at_.on_positions(), g.options());
  windows.each_tap([&](const Tap &tap) {
    at::Tensor shares =
        exponentials(windows.on_positions(x_, tap), windows.on_windows(pivots_, tap));
    shares.div_(windows.on_windows(sums_, tap)).mul_(windows.on_windows(g, tap));
    windows.on_positions(sums.open(), tap).add_(shares);
    sums.close();
  });
  return sums.total();
}

// beta must still be a number in the dtype.
void check_beta(tl_dtype dtype, double beta) {
  with_native(dtype, [&]<class T>(T) {
    const T rounded = static_cast<T>(beta);
    if (!std::isfinite(rounded) || rounded == 0)
      throw invalid("params.beta is " + std::to_string(beta) +
                    ", expected a number that is finite and not 0 in the dtype");
  });
}

// ---- Entries ------------------------------------------------------------------------------------

void forward(tl_instance &instance, tl_pooling_op op, const tl_operand *input,
             const tl_pooling_params *params, tl_flags, tl_storage **out) {
  const Geometry at(op, params);
  expect_given("input", input);
  const at::Tensor x = at.input(input, input->dtype);
  const bool by_aten = aten_computes(instance, op, at);
  if (op == TL_POOLING_SMOOTH_MAX) check_beta(input->dtype, at.params.beta);
  const auto shape = at.on_windows();
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return hand_out(out, at::zeros(shape, x.options()));
  switch (op) {
    case TL_POOLING_MAX:
      return hand_out(out,
                      by_aten ? std::get<0>(atens_maxima(at, x)) : maxima_by_taps(at, x).values);
    case TL_POOLING_AVERAGE:
      return hand_out(out, by_aten ? atens_averages(at, x) : averages_by_taps(at, x));
    default: return hand_out(out, SmoothMaxima(instance, at, x).values());
  }
}

void backward(tl_instance &instance, tl_pooling_op op, const tl_operand *input,
              const tl_operand *gradient, const tl_pooling_params *params, tl_flags,
              tl_storage **out) {
  const Geometry at(op, params);
  expect_given("gradient", gradient);
  const at::Tensor g = at.gradient(gradient, gradient->dtype);
  const at::Tensor x = op == TL_POOLING_AVERAGE ? at::Tensor() : at.input(input, gradient->dtype);
  if (op == TL_POOLING_SMOOTH_MAX) check_beta(gradient->dtype, at.params.beta);
  const bool by_aten = aten_computes(instance, op, at);
  if (g.numel() == 0) return hand_out(out, at::zeros(at.on_positions(), g.options()));
  switch (op) {
    case TL_POOLING_MAX:
      return hand_out(out, by_aten && overlap_little(at.windows)
                               ? atens_maxima_gradient(at, x, g)
                               : maxima_gradient_by_taps(at, x, g));
    case TL_POOLING_AVERAGE:
      return hand_out(out,
                      by_aten ? atens_averages_gradient(at, g) : averages_gradient_by_taps(at, g));
    default: return hand_out(out, SmoothMaxima(instance, at, x).gradient(g));
  }
}

}  // namespace

const tl_pooling_table pooling_table = {
    .struct_size = sizeof(tl_pooling_table),
    .forward = entry<"pooling forward", forward>,
    .backward = entry<"pooling backward", backward>,
};

}  // namespace torchlean::libtorch
