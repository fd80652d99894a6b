// Windows that slide over three axes, looked at one tap of all windows at a time.
#include "windows.hpp"

#include <limits>

namespace torchlean::libtorch {
namespace {

__extension__ typedef __int128 int128;

void expect_at_least(const char *member, size_t axis, int64_t value, int64_t least) {
  if (value < least)
    throw invalid("params." + std::string(member) + "[" + std::to_string(axis) + "] is " +
                  std::to_string(value) + ", expected at least " + std::to_string(least));
}

void expect_length(size_t axis, int64_t out, int128 expected) {
  if (out != expected)
    throw invalid("params.out[" + std::to_string(axis) + "] is " + std::to_string(out) +
                  ", expected " + std::to_string(static_cast<int64_t>(expected)));
}

// Every index along the axis is computed in 64 bits.
int128 checked(int128 length) {
  if (length > std::numeric_limits<int64_t>::max())
    throw invalid("params describe an axis whose padded length leaves 64 bits");
  return length;
}

// From the first tap of the first window to the last of the last.
int128 span_of(int64_t windows, const WindowAxis &axis) {
  return (int128{windows} - 1) * axis.stride + (int128{axis.taps} - 1) * axis.dilation + 1;
}

void check_members(size_t axis, const WindowAxis &of) {
  expect_at_least("kernel", axis, of.taps, 1);
  expect_at_least("stride", axis, of.stride, 1);
  expect_at_least("dilation", axis, of.dilation, 1);
  expect_at_least("padding_before", axis, of.before, 0);
  expect_at_least("padding_after", axis, of.after, 0);
}

int64_t divided_up(int64_t a, int64_t b) { return (a - 1) / b + 1; }  // a, b > 0

}  // namespace

void WindowAxis::check_windows(size_t axis, bool has_windows) const {
  check_members(axis, *this);
  expect_at_least("in", axis, positions, 0);
  const int128 room = checked(int128{positions} + before + after) - span_of(1, *this);
  expect_length(axis, windows, room < 0 || !has_windows ? 0 : room / stride + 1);
}

void WindowAxis::check_positions(size_t axis) const {
  check_members(axis, *this);
  expect_at_least("in", axis, windows, 0);
  const int128 span = span_of(windows, *this);
  expect_length(axis, positions, checked(std::max<int128>(0, span - before - after)));
  if (windows > 0) checked(std::max(span, int128{positions} + before));
}

int64_t volume(const char *argument, std::initializer_list<int64_t> sizes) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t product = 1;
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(product, size, &product) || product > UINT32_MAX)
      throw invalid(std::string(argument) +
                    " has more than 2^32 - 1 elements, going by the sizes in params");
  return product;
}

at::Tensor shaped_operand(const char *argument, const tl_operand *operand, tl_dtype dtype,
                          std::initializer_list<int64_t> shape) {
  volume(argument, shape);
  return native_as(argument, operand, dtype, shape);
}

at::Tensor Windows::on_windows(const at::Tensor &t, const Tap &tap) const {
  const auto &[i, j, k] = tap.along;
  const int64_t columns = axes_[2].windows;
  const int64_t plane = axes_[1].windows * columns;
  const int64_t all = axes_[0].windows * plane;
  return t.as_strided(
      {t.numel() / all, i.windows, j.windows, k.windows}, {all, plane, columns, 1},
      t.storage_offset() + i.first_window * plane + j.first_window * columns + k.first_window);
}

at::Tensor Windows::on_positions(const at::Tensor &t, const Tap &tap) const {
  const auto &[i, j, k] = tap.along;
  const int64_t columns = axes_[2].positions;
  const int64_t plane = axes_[1].positions * columns;
  const int64_t all = axes_[0].positions * plane;
  // The stride of an axis with one window may be anything, ATen's offset must stay in 64 bits.
  const auto stride = [&](size_t axis, int64_t unit) {
    return tap.along[axis].windows > 1 ? axes_[axis].stride * unit : 1;
  };
  return t.as_strided({t.numel() / all, i.windows, j.windows, k.windows},
                      {all, stride(0, plane), stride(1, columns), stride(2, 1)},
                      t.storage_offset() + i.first_position * plane + j.first_position * columns +
                          k.first_position);
}

bool Windows::fit_aten() const {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max() / 2;
  int64_t copies = 1;  // of each position, where ATen lays the windows side by side
  for (const auto &[windows, taps, positions, stride, dilation, before, after] : axes_) {
    const int64_t reach = dilation < limit && taps < limit ? dilation * (taps - 1) : limit;
    for (const int64_t size : {windows, taps, positions, stride, reach, before, after})
      if (size >= limit) return false;
    if (__builtin_mul_overflow(copies, windows * taps, &copies)) return false;
  }
  return copies < limit;
}

size_t Windows::skipped_axes() const {
  const auto &[windows, taps, positions, stride, dilation, before, after] = axes_[0];
  return windows == 1 && taps == 1 && positions == 1 && before == 0 && after == 0 ? 1 : 0;
}

Tap::Along Windows::along(size_t axis, int64_t tap) const {
  const auto &[windows, taps, positions, stride, dilation, before, after] = axes_[axis];
  const int64_t start = tap * dilation - before;  // where the tap of window 0 would lie
  const int64_t first = start < 0 ? divided_up(-start, stride) : 0;
  const int64_t position = start + first * stride;
  if (first >= windows || position >= positions) return {0, first, position};
  return {std::min(windows - first, (positions - 1 - position) / stride + 1), first, position};
}

// The first tap from `tap` on that lies on a position in some window, or the number of taps. Steps
// over stretches without any: there may be 2^32 taps and one position.
int64_t Windows::next(size_t axis, int64_t tap) const {
  const auto &[windows, taps, positions, stride, dilation, before, after] = axes_[axis];
  if (windows == 0 || positions == 0) return taps;
  while (tap < taps) {
    const Tap::Along found = along(axis, tap);
    if (found.windows > 0) return tap;
    if (found.first_window >= windows) {  // even the last window has it in the padding in front
      tap = divided_up(before - (windows - 1) * stride, dilation);
    } else if (found.first_window == 0) {  // even the first has it in the padding behind
      return taps;
    } else {  // that window has it behind, the one before it in front
      tap += divided_up(stride - found.first_position, dilation);
    }
  }
  return taps;
}

}  // namespace torchlean::libtorch
