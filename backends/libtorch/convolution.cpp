// Convolutions, ordinary and transposed, and their gradients.
//
// Windows lie on positions: an ordinary convolution's windows are its results and lie on the input,
// a transposed one's are its input and lie on the results. So there are three products: from
// positions to windows, from windows to positions, and of both for the kernel.
//
// On the host they are ATen's, unless those are not the specified ones: they may multiply padding
// with the kernel, so that a NaN there would spread, and their order of additions follows the
// number of threads. Then, and on other devices, each tap of the kernel is one matrix product.
#include "kernels.hpp"
#include "matmul.hpp"
#include "windows.hpp"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <bit>
#include <limits>
#include <type_traits>

namespace torchlean::libtorch {
namespace {

// ---- Sizes --------------------------------------------------------------------------------------

Windows checked_windows(bool transposed, const tl_convolution_params &params) {
  std::array<WindowAxis, 3> axes{};
  for (size_t i = 0; i < 3; ++i) {
    axes[i] = {.windows = transposed ? params.in[i] : params.out[i],
               .taps = params.kernel[i],
               .positions = transposed ? params.out[i] : params.in[i],
               .stride = params.stride[i],
               .dilation = params.dilation[i],
               .before = params.padding_before[i],
               .after = params.padding_after[i]};
    if (transposed) {
      axes[i].check_positions(i);
    } else {
      axes[i].check_windows(i);
    }
  }
  return Windows(axes);
}

struct Geometry {
  Geometry(tl_convolution_op op, const tl_convolution_params *given)
      : params(known_convolution(op, given)),
        transposed(op == TL_CONVOLUTION_TRANSPOSED),
        windows(checked_windows(transposed, params)),
        batch(extent("params.batch", params.batch)),
        groups(extent("params.groups", params.groups)),
        in_channels(extent("params.in_channels", params.in_channels)),
        out_channels(extent("params.out_channels", params.out_channels)),
        on_windows((transposed ? in_channels : out_channels) / groups),
        on_positions((transposed ? out_channels : in_channels) / groups),
        taps(volume("kernel", {params.kernel[0], params.kernel[1], params.kernel[2]})) {}

  // (sample, channel, place...)
  at::Tensor input(const tl_operand *operand, tl_dtype dtype) const {
    const auto &in = params.in;
    return shaped_operand("input", operand, dtype, {batch, in_channels, in[0], in[1], in[2]});
  }
  at::Tensor gradient(const tl_operand *operand, tl_dtype dtype) const {
    const auto &out = params.out;
    return shaped_operand("gradient", operand, dtype,
                          {batch, out_channels, out[0], out[1], out[2]});
  }

  std::array<int64_t, 5> shape_of_windows() const {
    return shape(on_windows, &WindowAxis::windows);
  }
  std::array<int64_t, 5> shape_of_positions() const {
    return shape(on_positions, &WindowAxis::positions);
  }

  // The blocks that groups use: (group, channel on windows, channel on positions, tap).
  at::Tensor kernel(const tl_operand *operand, tl_dtype dtype) const {
    const at::Tensor whole =
        shaped_operand("kernel", operand, dtype, {groups, on_windows, groups, on_positions, taps});
    return whole.diagonal(0, 0, 2).permute({3, 0, 1, 2}).contiguous();
  }

  // A whole kernel of these blocks and zeros.
  at::Tensor whole_kernel(const at::Tensor &blocks) const {
    if (groups == 1) return blocks;
    at::Tensor whole =
        at::zeros({groups, on_windows, groups, on_positions, taps}, blocks.options());
    whole.diagonal(0, 0, 2).copy_(blocks.permute({1, 2, 3, 0}));
    return whole;
  }

  const tl_convolution_params params;
  const bool transposed;
  const Windows windows;
  const int64_t batch;
  const int64_t groups;
  const int64_t in_channels;
  const int64_t out_channels;
  const int64_t on_windows;  // channels of a group
  const int64_t on_positions;
  const int64_t taps;

 private:
  std::array<int64_t, 5> shape(int64_t channels, int64_t WindowAxis::*length) const {
    volume("output",
           {batch, groups * channels, windows[0].*length, windows[1].*length, windows[2].*length});
    return {batch, groups * channels, windows[0].*length, windows[1].*length, windows[2].*length};
  }
};

// ---- By ATen ------------------------------------------------------------------------------------

template <class T>
TL_LOOP bool is_finite(const T *x, int64_t begin, int64_t end) {
  using Bits = std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;
  constexpr auto infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits nonfinite = 0;
  for (int64_t i = begin; i < end; ++i)
    nonfinite |= Bits((std::bit_cast<Bits>(x[i]) & infinity) == infinity);
  return nonfinite == 0;
}

template <class T>
bool is_finite(const at::Tensor &x) {
  std::atomic<bool> finite = true;
  const T *const values = x.const_data_ptr<T>();
  at::parallel_for(0, x.numel(), cheap_grain, [&](int64_t begin, int64_t end) {
    if (!is_finite(values, begin, end)) finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

bool aten_computes(const tl_instance &instance, const Geometry &at, const at::Tensor &a,
                   const at::Tensor &b) {
  if (instance.deterministic || instance.composed || !at.windows.fit_aten()) return false;
  return a.scalar_type() == at::kFloat ? is_finite<float>(a) && is_finite<float>(b)
                                       : is_finite<double>(a) && is_finite<double>(b);
}

// The arguments of at::convolution. It pads both ends of an axis alike: positions get the padding
// that one end has more than the other beforehand, or lose it afterwards.
struct AtenArguments {
  explicit AtenArguments(const Geometry &at) {
    for (size_t axis = at.windows.skipped_axes(); axis < 3; ++axis) {
      const WindowAxis &of = at.windows[axis];
      const int64_t both = std::min(of.before, of.after);
      const int64_t padded = of.positions + of.before + of.after;
      const int64_t reach = (of.windows - 1) * of.stride + (of.taps - 1) * of.dilation + 1;
      taps.push_back(of.taps);
      stride.push_back(of.stride);
      padding.push_back(both);
      dilation.push_back(of.dilation);
      behind_last_window.push_back(padded - reach);
      none.push_back(0);
      positions.push_back(of.positions);
      more_in_front.push_back(of.before - both);
      more_behind.push_back(of.after - both);
    }
  }

  // (sample, channel, place...) and (channel of all groups, channel of one group, tap...).
  at::Tensor places(const at::Tensor &x) const { return taps.size() == 3 ? x : x.squeeze(2); }
  at::Tensor kernel(const at::Tensor &blocks) const {
    std::vector<int64_t> shape{blocks.size(0) * blocks.size(1), blocks.size(2)};
    shape.insert(shape.end(), taps.begin(), taps.end());
    return blocks.view(shape);
  }

  at::Tensor extended(const at::Tensor &x) const {
    if (more_in_front == none && more_behind == none) return places(x);
    std::vector<int64_t> ends;  // from the last axis to the first
    for (size_t i = none.size(); i-- > 0;)
      ends.insert(ends.end(), {more_in_front[i], more_behind[i]});
    return at::constant_pad_nd(places(x), ends);
  }
  at::Tensor cut(at::Tensor x) const {
    for (size_t i = 0; i < none.size(); ++i)
      x = x.narrow(static_cast<int64_t>(i) + 2, more_in_front[i], positions[i]);
    return x;
  }

  std::vector<int64_t> taps, stride, padding, dilation, behind_last_window, none;

 private:
  std::vector<int64_t> positions, more_in_front, more_behind;
};

// ---- By taps ------------------------------------------------------------------------------------

// Views of places as one matrix per sample and group: (sample * group, channel, place).
at::Tensor matrices(const at::Tensor &places, int64_t channels) {
  const int64_t of_each = places.size(1) * places.size(2) * places.size(3);
  return places.reshape({places.size(0) / channels, channels, of_each});
}

// The tap of every block, repeated for every sample.
at::Tensor matrices_of(const Geometry &at, const Tap &tap, const at::Tensor &kernel) {
  return kernel.select(3, static_cast<int64_t>(tap.number))
      .expand({at.batch, at.groups, at.on_windows, at.on_positions})
      .reshape({at.batch * at.groups, at.on_windows, at.on_positions});
}

// All samples side by side: (group, channel, sample * place).
at::Tensor side_by_side(const Geometry &at, const at::Tensor &places, int64_t channels) {
  return matrices(places, channels)
      .view({at.batch, at.groups, channels, -1})
      .permute({1, 2, 0, 3})
      .reshape({at.groups, channels, -1});
}

// A bias for every place of the results; zeros where there is none.
at::Tensor spread(const at::Tensor &bias, at::IntArrayRef shape, const at::TensorOptions &options) {
  if (!bias.defined()) return at::zeros(shape, options);
  return bias.view({1, -1, 1, 1, 1}).expand(shape).clone(at::MemoryFormat::Contiguous);
}

// ---- The three products -------------------------------------------------------------------------

// For each window: what lies under it, times the kernel, + bias.
at::Tensor on_windows(const tl_instance &instance, const Geometry &at, const at::Tensor &positions,
                      const at::Tensor &kernel, const at::Tensor &bias) {
  if (aten_computes(instance, at, positions, kernel)) {
    const AtenArguments to(at);
    return at::convolution(to.extended(positions), to.kernel(kernel), bias, to.stride, to.padding,
                           to.dilation, false, to.none, at.groups);
  }
  at::Tensor sums = spread(bias, at.shape_of_windows(), kernel.options());
  at.windows.each_tap([&](const Tap &tap) {
    const at::Tensor under = matrices(at.windows.on_positions(positions, tap), at.on_positions);
    const at::Tensor target = at.windows.on_windows(sums, tap);
    target.add_(product(instance, matrices_of(at, tap, kernel), under).view(target.sizes()));
  });
  return sums;
}

// For each position: the windows that lie on it, times the kernel, + bias.
at::Tensor on_positions(const tl_instance &instance, const Geometry &at, const at::Tensor &windows,
                        const at::Tensor &kernel, const at::Tensor &bias) {
  if (aten_computes(instance, at, windows, kernel)) {
    const AtenArguments to(at);
    return to.cut(at::convolution(to.places(windows), to.kernel(kernel), bias, to.stride,
                                  to.padding, to.dilation, true, to.behind_last_window, at.groups));
  }
  at::Tensor sums = spread(bias, at.shape_of_positions(), kernel.options());
  at.windows.each_tap([&](const Tap &tap) {
    const at::Tensor above = matrices(at.windows.on_windows(windows, tap), at.on_windows);
    const at::Tensor target = at.windows.on_positions(sums, tap);
    const at::Tensor transposed = matrices_of(at, tap, kernel).transpose(1, 2);
    target.add_(product(instance, transposed, above).view(target.sizes()));
  });
  return sums;
}

// For each tap: the sum of all windows times what it lies on.
at::Tensor on_kernel(const tl_instance &instance, const Geometry &at, const at::Tensor &windows,
                     const at::Tensor &positions, const at::Tensor &kernel) {
  if (aten_computes(instance, at, windows, positions)) {
    const AtenArguments to(at);
    return std::get<1>(at::convolution_backward(to.places(windows), to.extended(positions),
                                                to.kernel(kernel), std::nullopt, to.stride,
                                                to.padding, to.dilation, false, to.none, at.groups,
                                                {false, true, false}))
        .reshape(kernel.sizes());
  }
  at::Tensor sums = at::zeros_like(kernel);
  at.windows.each_tap([&](const Tap &tap) {
    const at::Tensor above = side_by_side(at, at.windows.on_windows(windows, tap), at.on_windows);
    const at::Tensor under =
        side_by_side(at, at.windows.on_positions(positions, tap), at.on_positions);
    sums.select(3, static_cast<int64_t>(tap.number))
        .copy_(product(instance, above, under.transpose(1, 2)));
  });
  return sums;
}

// For each output channel: the sum over samples and places.
at::Tensor on_bias(const tl_instance &instance, const at::Tensor &gradient) {
  const at::Tensor rows =
      gradient.transpose(0, 1).reshape({1, gradient.size(1), gradient.numel() / gradient.size(1)});
  return product(instance, rows, at::ones({1, rows.size(2), 1}, rows.options()));
}

// ---- Entries ------------------------------------------------------------------------------------

void forward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
             const tl_operand *kernel, const tl_operand *bias, const tl_convolution_params *params,
             tl_flags, tl_storage **out) {
  const Geometry at(op, params);
  expect_given("input", input);
  const at::Tensor x = at.input(input, input->dtype);
  const at::Tensor w = at.kernel(kernel, input->dtype);
  const at::Tensor b = shaped_operand("bias", bias, input->dtype, {at.out_channels});
  const auto shape = at.transposed ? at.shape_of_positions() : at.shape_of_windows();
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (x.numel() == 0 || w.numel() == 0 || is_empty)
    return hand_out(out, spread(b, shape, b.options()));
  hand_out(out, (at.transposed ? on_positions : on_windows)(instance, at, x, w, b));
}

void backward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
              const tl_operand *kernel, const tl_operand *gradient,
              const tl_convolution_params *params, tl_flags, tl_storage **out) {
  const Geometry at(op, params);
  expect_given("input", input);
  const at::Tensor x = at.input(input, input->dtype);
  const at::Tensor w = at.kernel(kernel, input->dtype);
  const at::Tensor g = at.gradient(gradient, input->dtype);
  const at::Tensor d_bias =
      g.numel() == 0 ? at::zeros({at.out_channels}, g.options()) : on_bias(instance, g);
  if (x.numel() == 0 || w.numel() == 0 || g.numel() == 0)
    return hand_out(out, {at.whole_kernel(at::zeros_like(w)), d_bias, at::zeros_like(x)});
  const at::Tensor &windows = at.transposed ? x : g;
  const at::Tensor &positions = at.transposed ? g : x;
  hand_out(out, {at.whole_kernel(on_kernel(instance, at, windows, positions, w)), d_bias,
                 (at.transposed ? on_windows : on_positions)(instance, at, g, w, {})});
}

}  // namespace

const tl_convolution_table convolution_table = {
    .struct_size = sizeof(tl_convolution_table),
    .forward = entry<"convolution forward", forward>,
    .backward = entry<"convolution backward", backward>,
};

}  // namespace torchlean::libtorch
