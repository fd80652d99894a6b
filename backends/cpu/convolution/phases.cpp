// Which values of a convolution meet, axis by axis.
#include "convolution/phases.hpp"

#include <algorithm>
#include <utility>

namespace torchlean::cpu {

WindowGrid merged(const WindowGrid &windows) {
  std::array<WindowAxis, 3> axes = {windows[0], windows[1], windows[2]};
  const auto is_plain = [](const WindowAxis &axis) {
    return axis.size[Side::tap] == 1 && axis.stride == 1 && axis.padding == 0 &&
           axis.size[Side::window] == axis.size[Side::position];
  };
  const auto is_single = [](const WindowAxis &axis) {
    return axis.padding == 0 && std::all_of(axis.size.index.begin(), axis.size.index.end(),
                                            [](int64_t size) { return size == 1; });
  };
  for (size_t i = 2; i-- > 0 && is_plain(axes[2]) && is_plain(axes[i]);)
    for (const Side side : {Side::window, Side::position})
      axes[2].size[side] *= std::exchange(axes[i].size[side], 1);
  // Nor does memory know where axes of one place are: lines are better long.
  for (WindowAxis &axis : axes)
    if (is_single(axis)) axis.stride = 1;
  std::stable_partition(axes.begin(), axes.end(), is_single);
  return WindowGrid(axes);
}

void Phase::add(int64_t tap, int64_t offset) {
  const AxisTap added{tap, offset};
  if (first_inside(added) < end_inside(added)) taps.push_back(added);
}

int64_t Phase::first_inside(const AxisTap &tap) const {
  return tap.offset >= 0 ? 0 : (-tap.offset + source_step - 1) / source_step;
}

int64_t Phase::end_inside(const AxisTap &tap) const {
  if (tap.offset >= source_size) return 0;
  return std::min(count, (source_size - tap.offset + source_step - 1) / source_step);
}

bool Phase::reaches_padding() const {
  return std::any_of(taps.begin(), taps.end(), [&](const AxisTap &tap) {
    return tap.offset < 0 || tap.offset + (count - 1) * source_step >= source_size;
  });
}

int64_t line_read(const Phases &phase, int64_t first, const AxisTap &a, int64_t second,
                  const AxisTap &b) {
  const int64_t plane = phase[0]->read_by(first, a);
  const int64_t row = phase[1]->read_by(second, b);
  if (!phase[0]->is_inside(plane) || !phase[1]->is_inside(row)) return -1;
  return plane * phase[1]->source_size + row;
}

std::vector<Phase> phases_of_windows(const WindowAxis &axis) {
  Phase phase{axis.size[Side::window], 0, 1, axis.stride, axis.size[Side::position], {}};
  for (const AxisTap &tap : all_taps_of_windows(axis).taps) phase.add(tap.tap, tap.offset);
  return {phase};
}

Phase all_taps_of_windows(const WindowAxis &axis) {
  Phase phase{axis.size[Side::window], 0, 1, axis.stride, axis.size[Side::position], {}};
  for (int64_t k = 0; k < axis.size[Side::tap]; ++k)
    phase.taps.push_back({k, k * axis.dilation - axis.padding});
  return phase;
}

std::vector<Phase> phases_of_positions(const WindowAxis &axis) {
  const int64_t positions = axis.size[Side::position];
  std::vector<Phase> phases;
  for (int64_t start = 0; start < std::min(axis.stride, positions); ++start)
    phases.push_back({(positions - start - 1) / axis.stride + 1,
                      start,
                      axis.stride,
                      1,
                      axis.size[Side::window],
                      {}});
  for (int64_t k = 0; k < axis.size[Side::tap]; ++k) {
    const int64_t reach = k * axis.dilation - axis.padding;
    const int64_t start = (reach % axis.stride + axis.stride) % axis.stride;
    if (start < static_cast<int64_t>(phases.size()))
      phases[static_cast<size_t>(start)].add(k, (start - reach) / axis.stride);
  }
  return phases;
}

}  // namespace torchlean::cpu
