// Lengths of axes, and the walk over what meets.
#include "compare/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace torchlean::tools {
namespace {

using enum WindowSide;

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

// floor((in + before + after - dilation (kernel - 1) - 1) / stride) + 1
std::uint64_t windows_in(std::uint64_t padded, std::uint64_t kernel, std::uint64_t stride,
                         std::uint64_t dilation) {
  const std::uint64_t reach = dilation * (kernel - 1) + 1;
  return reach > padded ? 0 : (padded - reach) / stride + 1;
}

// max(0, (in - 1) stride + kernel - padding)
std::uint64_t positions_under(std::uint64_t in, std::uint64_t kernel, std::uint64_t stride,
                              std::uint64_t padding) {
  const std::uint64_t reach = in * stride + kernel;
  return reach > stride + padding ? reach - stride - padding : 0;
}

}  // namespace

WindowGeometry::WindowGeometry(const WindowShape &shape, WindowKind kind)
    : in_(kind == WindowKind::transposed ? window : position),
      out_(kind == WindowKind::transposed ? position : window) {
  for (std::size_t a = 0; a < shape.in.size(); ++a) {
    Axis axis{{}, shape.stride.at(a), 1, shape.before.at(a)};
    if (!shape.dilation.empty()) axis.dilation = shape.dilation.at(a);
    const std::uint64_t after = shape.after.empty() ? axis.padding : shape.after.at(a);
    const std::uint64_t kernel = shape.kernel.at(a);
    axis.lengths[tap] = kernel;
    axis.lengths[in_] = shape.in[a];
    axis.lengths[out_] =
        kind == WindowKind::transposed
            ? positions_under(shape.in[a], kernel, axis.stride, axis.padding + after)
            : windows_in(shape.in[a] + axis.padding + after, kernel, axis.stride, axis.dilation);
    if (kind == WindowKind::pool && (shape.in[a] == 0 || axis.padding > kernel / 2)) {
      axis.lengths[out_] = 0;
    }
    axes_.push_back(axis);
  }
}

std::uint64_t WindowGeometry::length(std::size_t axis, WindowSide side) const {
  return axes_[axis].lengths[side];
}

std::uint64_t WindowGeometry::count(WindowSide side) const {
  std::uint64_t total = 1;
  for (const Axis &axis : axes_) total *= axis.lengths[side];
  return total;
}

std::vector<Meeting> WindowGeometry::meetings(const Axis &axis, WindowSide side,
                                              std::uint64_t index) {
  const Meeting &lengths = axis.lengths;
  const std::uint64_t stride = axis.stride;
  const std::uint64_t dilation = axis.dilation;
  const std::uint64_t padding = axis.padding;
  std::vector<Meeting> all;
  const auto add = [&](std::uint64_t w, std::uint64_t k) {
    const std::uint64_t place = w * stride + k * dilation;
    if (place < padding || place - padding >= lengths[position]) return;
    Meeting met;
    met[window] = w;
    met[tap] = k;
    met[position] = place - padding;
    all.push_back(met);
  };
  switch (side) {
    case window: {
      // Windows may be far larger than the input: the taps inside only.
      const std::uint64_t start = index * stride;
      const std::uint64_t end = lengths[position] + padding;
      const std::uint64_t first = start >= padding ? 0 : divided_up(padding - start, dilation);
      const std::uint64_t last = start >= end ? 0 : divided_up(end - start, dilation);
      for (std::uint64_t k = first; k < std::min(last, lengths[tap]); ++k) add(index, k);
      break;
    }
    case tap:
      for (std::uint64_t w = 0; w < lengths[window]; ++w) add(w, index);
      break;
    case position: {
      const std::uint64_t place = index + padding;
      const std::uint64_t reach = (lengths[tap] - 1) * dilation;
      const std::uint64_t first = place <= reach ? 0 : divided_up(place - reach, stride);
      for (std::uint64_t w = first; w < lengths[window] && w * stride <= place; ++w) {
        if ((place - w * stride) % dilation == 0) add(w, (place - w * stride) / dilation);
      }
      break;
    }
  }
  return all;
}

std::vector<Meeting> WindowGeometry::meetings(WindowSide side, std::uint64_t index) const {
  std::vector<std::uint64_t> indices(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    indices[a] = index % axes_[a].lengths[side];
    index /= axes_[a].lengths[side];
  }
  std::vector<Meeting> all(1);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const std::vector<Meeting> along = meetings(axes_[a], side, indices[a]);
    std::vector<Meeting> longer;
    longer.reserve(all.size() * along.size());
    for (const Meeting &outer : all) {
      for (const Meeting &inner : along) {
        Meeting met;
        for (const WindowSide s : {window, tap, position}) {
          met[s] = outer[s] * axes_[a].lengths[s] + inner[s];
        }
        longer.push_back(met);
      }
    }
    all = std::move(longer);
  }
  return all;
}

ConvolutionGeometry::ConvolutionGeometry(const WindowShape &shape, bool transposed)
    : windows(shape, transposed ? WindowKind::transposed : WindowKind::convolution),
      is_transposed(transposed),
      batch(product_of(shape.leading)),
      in_channels(shape.in_channels),
      out_channels(shape.out_channels),
      groups(shape.groups),
      in_count(windows.count(windows.in())),
      out_count(windows.count(windows.out())),
      taps(windows.count(tap)) {}

Windows windows_of(const WindowShape &shape) {
  return {shape.in, shape.kernel, shape.stride, shape.before};
}

std::string window_text(const WindowShape &shape) {
  const auto is_all = [](const std::vector<std::uint64_t> &list, std::uint64_t value) {
    return std::all_of(list.begin(), list.end(), [&](std::uint64_t v) { return v == value; });
  };
  std::string text = shape.leading.empty() ? "" : dims_text(shape.leading) + ":";
  text += fmt::format("c{}", shape.in_channels);
  if (shape.out_channels != 0) text += fmt::format("-{}", shape.out_channels);
  if (shape.groups != 1) text += fmt::format(":g{}", shape.groups);
  text += fmt::format(":{}:k{}", dims_text(shape.in), dims_text(shape.kernel));
  if (!is_all(shape.stride, 1)) text += ":s" + dims_text(shape.stride);
  if (!is_all(shape.before, 0) || !is_all(shape.after, 0)) text += ":p" + dims_text(shape.before);
  if (!shape.after.empty() && shape.after != shape.before) text += "-" + dims_text(shape.after);
  if (!is_all(shape.dilation, 1)) text += ":d" + dims_text(shape.dilation);
  return text;
}

}  // namespace torchlean::tools
