// Windows that slide over three axes: which tap of which window lies on which position. Backends
// share it for convolutions and pools.
//
// Along an axis, tap k of window w lies on position w * stride + k * dilation - padding; where
// there is no such position, it lies in the padding.
#pragma once

#include <torchlean/backend_arguments.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace torchlean {

// What a tap that lies on a position ties together.
enum class Side : size_t { window, tap, position };

// One index for each side.
template <class Index>
struct BySide {
  std::array<Index, 3> index;
  Index &operator[](Side side) { return index[static_cast<size_t>(side)]; }
  const Index &operator[](Side side) const { return index[static_cast<size_t>(side)]; }
};

struct WindowAxis {
  BySide<int64_t> size;
  int64_t stride;
  int64_t dilation;
  int64_t padding;  // before the first position
};

namespace detail {

__extension__ typedef __int128 Int128;

// From the first tap of the first window to the last of the last; windows > 0.
inline Int128 span_of(int64_t windows, int64_t taps, int64_t stride, int64_t dilation) {
  return (Int128{windows} - 1) * stride + (Int128{taps} - 1) * dilation + 1;
}

// Every index of the axis is computed in 64 bits.
inline int64_t checked_length(Int128 length) {
  if (length > std::numeric_limits<int64_t>::max())
    throw invalid("params describe an axis whose padded length leaves 64 bits");
  return static_cast<int64_t>(length);
}

// Throws unless params.<member>[axis] is at least `least`.
inline void expect_at_least(const char *member, size_t axis, int64_t value, int64_t least) {
  if (value < least)
    throw invalid("params." + std::string(member) + "[" + std::to_string(axis) + "] is " +
                  std::to_string(value) + ", expected at least " + std::to_string(least));
}

// Throws unless params.out[axis] is the length that the other members make it.
inline void expect_length(size_t axis, int64_t out, int64_t expected) {
  if (out != expected)
    throw invalid("params.out[" + std::to_string(axis) + "] is " + std::to_string(out) +
                  ", expected " + std::to_string(expected));
}

}  // namespace detail

// The windows that fit into padded positions.
inline WindowAxis windows_in(int64_t positions, int64_t taps, int64_t stride, int64_t dilation,
                             int64_t before, int64_t after) {
  const int64_t padded = detail::checked_length(detail::Int128{positions} + before + after);
  const detail::Int128 room = padded - detail::span_of(1, taps, stride, dilation);
  const int64_t windows = room < 0 ? 0 : static_cast<int64_t>(room / stride) + 1;
  return {{{windows, taps, positions}}, stride, dilation, before};
}

// The positions that windows cover, less the padding.
inline WindowAxis positions_under(int64_t windows, int64_t taps, int64_t stride, int64_t dilation,
                                  int64_t before, int64_t after) {
  const detail::Int128 span = detail::span_of(windows, taps, stride, dilation);
  const detail::Int128 rest = span - before - after;
  const int64_t positions = rest < 0 ? 0 : detail::checked_length(rest);
  if (windows > 0) {
    detail::checked_length(span);
    detail::checked_length(detail::Int128{positions} + before);
  }
  return {{{windows, taps, positions}}, stride, dilation, before};
}

class WindowGrid {
 public:
  explicit WindowGrid(const std::array<WindowAxis, 3> &axes) : axes_(axes) {}

  const WindowAxis &operator[](size_t axis) const { return axes_[axis]; }

  // How many windows, taps of a window, or positions there are; saturated.
  uint64_t count(Side side) const {
    const auto size = [&](size_t axis) { return static_cast<uint64_t>(axes_[axis].size[side]); };
    return product({size(0), size(1), size(2)});
  }

  // Calls visit(at) for every tap that lies on a position and has this index on this side; `at` are
  // the indices on all sides, row-major over the axes. The taps of one window come in order.
  template <class Visit>
  void each(Side side, uint64_t index, Visit visit) const {
    std::array<int64_t, 3> at{};
    for (size_t axis = 3; axis-- > 0;) {
      const auto size = static_cast<uint64_t>(axes_[axis].size[side]);
      at[axis] = static_cast<int64_t>(index % size);
      index /= size;
    }
    along(axes_[0], side, at[0], [&](const BySide<int64_t> &first) {
      along(axes_[1], side, at[1], [&](const BySide<int64_t> &second) {
        along(axes_[2], side, at[2], [&](const BySide<int64_t> &third) {
          BySide<uint64_t> flat{};
          for (const Side s : {Side::window, Side::tap, Side::position})
            flat[s] = row_major(first[s], second[s], third[s], axes_[1].size[s], axes_[2].size[s]);
          visit(flat);
        });
      });
    });
  }

 private:
  // Unsigned: a window that is nearly all padding may have more than 2^63 taps.
  static uint64_t row_major(uint64_t i, uint64_t j, uint64_t k, uint64_t rows, uint64_t cols) {
    return (i * rows + j) * cols + k;
  }

  // The smallest number >= 0 that, times `step`, is at least `distance`.
  static int64_t steps_to(int64_t distance, int64_t step) {
    return distance <= 0 ? 0 : (distance - 1) / step + 1;
  }

  // The same along one axis.
  template <class Visit>
  static void along(const WindowAxis &axis, Side side, int64_t at, Visit visit) {
    const auto &[size, stride, dilation, padding] = axis;
    if (size[Side::window] == 0) return;  // lengths without a window may leave 64 bits
    switch (side) {
      case Side::window: {
        const int64_t start = at * stride - padding;
        for (int64_t k = steps_to(-start, dilation);
             k < size[Side::tap] && start + k * dilation < size[Side::position]; ++k)
          visit(BySide<int64_t>{at, k, start + k * dilation});
        break;
      }
      case Side::tap: {
        const int64_t start = at * dilation - padding;
        for (int64_t w = steps_to(-start, stride);
             w < size[Side::window] && start + w * stride < size[Side::position]; ++w)
          visit(BySide<int64_t>{w, at, start + w * stride});
        break;
      }
      case Side::position: {
        const int64_t reach = at + padding;
        const int64_t last_tap = (size[Side::tap] - 1) * dilation;
        for (int64_t w = steps_to(reach - last_tap, stride);
             w < size[Side::window] && w * stride <= reach; ++w)
          if ((reach - w * stride) % dilation == 0)
            visit(BySide<int64_t>{w, (reach - w * stride) / dilation, at});
        break;
      }
    }
  }

  std::array<WindowAxis, 3> axes_;
};

// ---- Convolutions -------------------------------------------------------------------------------

namespace detail {

inline WindowAxis checked_axis(tl_convolution_op op, const tl_convolution_params &params,
                               size_t axis) {
  expect_at_least("in", axis, params.in[axis], 0);
  expect_at_least("kernel", axis, params.kernel[axis], 1);
  expect_at_least("stride", axis, params.stride[axis], 1);
  expect_at_least("padding_before", axis, params.padding_before[axis], 0);
  expect_at_least("padding_after", axis, params.padding_after[axis], 0);
  expect_at_least("dilation", axis, params.dilation[axis], 1);
  const bool transposed = op == TL_CONVOLUTION_TRANSPOSED;
  const WindowAxis result = (transposed ? positions_under : windows_in)(
      params.in[axis], params.kernel[axis], params.stride[axis], params.dilation[axis],
      params.padding_before[axis], params.padding_after[axis]);
  expect_length(axis, params.out[axis], result.size[transposed ? Side::position : Side::window]);
  return result;
}

inline WindowAxis checked_axis(const tl_pooling_params &params, size_t axis) {
  expect_at_least("in", axis, params.in[axis], 0);
  expect_at_least("kernel", axis, params.kernel[axis], 1);
  expect_at_least("stride", axis, params.stride[axis], 1);
  expect_at_least("padding", axis, params.padding[axis], 0);
  WindowAxis result = windows_in(params.in[axis], params.kernel[axis], params.stride[axis], 1,
                                 params.padding[axis], params.padding[axis]);
  // So every window holds an entry.
  if (params.in[axis] == 0 || params.padding[axis] > params.kernel[axis] / 2)
    result.size[Side::window] = 0;
  expect_length(axis, params.out[axis], result.size[Side::window]);
  return result;
}

}  // namespace detail

// Sizes of a convolution, checked, and where elements lie. An ordinary convolution's windows are
// its results, which lie on the input; a transposed one's are its input, which lies on the results.
struct ConvolutionGeometry {
  ConvolutionGeometry(tl_convolution_op op, const tl_convolution_params *given)
      : params(known_convolution(op, given)),
        transposed(op == TL_CONVOLUTION_TRANSPOSED),
        in(transposed ? Side::window : Side::position),
        out(transposed ? Side::position : Side::window),
        windows({detail::checked_axis(op, params, 0), detail::checked_axis(op, params, 1),
                 detail::checked_axis(op, params, 2)}),
        in_size(windows.count(in)),
        out_size(windows.count(out)),
        taps(windows.count(Side::tap)) {}

  uint64_t input_count() const { return product({params.batch, params.in_channels, in_size}); }
  uint64_t output_count() const { return product({params.batch, params.out_channels, out_size}); }
  uint64_t kernel_count() const { return product({params.out_channels, params.in_channels, taps}); }

  // Flat indices; n is a sample, o an output channel, c an input channel.
  uint64_t input(uint64_t n, uint64_t c, uint64_t i) const {
    return (n * params.in_channels + c) * in_size + i;
  }
  uint64_t output(uint64_t n, uint64_t o, uint64_t i) const {
    return (n * params.out_channels + o) * out_size + i;
  }
  uint64_t kernel(uint64_t o, uint64_t c, uint64_t tap) const {
    const uint64_t block = transposed ? c * params.out_channels + o : o * params.in_channels + c;
    return block * taps + tap;
  }

  bool same_group(uint64_t o, uint64_t c) const {
    return o / (params.out_channels / params.groups) == c / (params.in_channels / params.groups);
  }

  const tl_convolution_params params;
  const bool transposed;
  const Side in;
  const Side out;
  const WindowGrid windows;
  const uint64_t in_size;
  const uint64_t out_size;
  const uint64_t taps;
};

// ---- Pools --------------------------------------------------------------------------------------

// Sizes of a pool, checked.
struct PoolingGeometry {
  PoolingGeometry(tl_pooling_op op, const tl_pooling_params *given)
      : params(known_pooling(op, given)),
        windows({detail::checked_axis(params, 0), detail::checked_axis(params, 1),
                 detail::checked_axis(params, 2)}),
        in_size(windows.count(Side::position)),
        out_size(windows.count(Side::window)) {
    for (const int64_t taps : params.kernel) volume *= static_cast<double>(taps);
  }

  uint64_t input_count() const { return product({params.channels, in_size}); }
  uint64_t output_count() const { return product({params.channels, out_size}); }

  const tl_pooling_params params;
  const WindowGrid windows;
  const uint64_t in_size;
  const uint64_t out_size;
  double volume = 1;  // of a window, its padding included
};

// β in the dtype; other pools have none.
template <class T>
T checked_beta(tl_pooling_op op, double given) {
  if (op != TL_POOLING_SMOOTH_MAX) return 0;
  const auto beta = static_cast<T>(given);
  if (!std::isfinite(beta) || beta == 0)
    throw invalid("params.beta is " + std::to_string(given) +
                  ", expected a number that is finite and not 0 in the dtype");
  return beta;
}

}  // namespace torchlean
