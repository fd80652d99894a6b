// From the windows of a convolution to its positions, and back.
#pragma once

#include "convolution/band.hpp"
#include "gemm.hpp"
#include "threads.hpp"

namespace torchlean::cpu {

// Calls body(begin, end) for pieces of [0, count), items of so many products each.
template <class Body>
void each_task(const tl_instance &instance, int64_t count, int64_t products, const Body &body) {
  constexpr int64_t task_products = int64_t{1} << 16;
  const int64_t grain = std::max<int64_t>(1, task_products / std::max<int64_t>(1, products));
  parallel_for(instance, static_cast<uint64_t>(count), static_cast<uint64_t>(grain),
               [&](uint64_t begin, uint64_t end) {
                 body(static_cast<int64_t>(begin), static_cast<int64_t>(end));
               });
}

// Channels of one side, and how far apart they lie in the kernel.
struct Channels {
  int64_t count;  // of a group
  int64_t kernel_stride;
};

// target = start + the sum of source * kernel over all that meets.
template <class T>
struct Correlation {
  tl_instance &instance;
  int64_t batch;
  int64_t groups;
  const WindowGrid &windows;
  Side from;
  Side to;
  Channels sources;
  Channels targets;
  int64_t group_stride;  // of the kernel
  const T *source;
  const T *kernel;
  const T *start;  // one for each target channel, or NULL
  T *target;

  int64_t source_size() const { return static_cast<int64_t>(windows.count(from)); }
  int64_t target_size() const { return static_cast<int64_t>(windows.count(to)); }

  // Of a group in a sample, numbered through all samples.
  const T *source_of(int64_t sample_and_group) const {
    return source + sample_and_group * sources.count * source_size();
  }

  // Of a target channel, numbered through all samples.
  T start_of(int64_t channel) const {
    return start == nullptr ? T(0) : start[channel % (groups * targets.count)];
  }
  const T *kernel_of(int64_t channel) const {
    return kernel + channel / targets.count % groups * group_stride +
           channel % targets.count * targets.kernel_stride;
  }

  // Where a place of a channel goes.
  T *target_of(const Phases &phase, int64_t channel, int64_t first, int64_t second,
               int64_t third) const {
    const int64_t plane = phase[0]->start + first * phase[0]->step;
    const int64_t row = phase[1]->start + second * phase[1]->step;
    const int64_t col = phase[2]->start + third * phase[2]->step;
    return target + channel * target_size() +
           (plane * windows[1].size[to] + row) * windows[2].size[to] + col;
  }

  // Writes neighbouring places of a channel.
  void put(const Phases &phase, int64_t channel, int64_t first, int64_t second, int64_t third,
           const T *values, int64_t count) const {
    T *const places = target_of(phase, channel, first, second, third);
    for (int64_t i = 0; i < count; ++i) places[i * phase[2]->step] = values[i];
  }

  // The kernel's index of a tap.
  int64_t tap_of(const AxisTap &a, const AxisTap &b, const AxisTap &c) const {
    return (a.tap * windows[1].size[Side::tap] + b.tap) * windows[2].size[Side::tap] + c.tap;
  }
};

// With a target channel in each lane and without padding, for all phases of the targets. Does
// nothing where other ways are better, and says so.
template <class T>
bool correlate_by_channel_lanes(const Correlation<T> &at, const AxisPhases &axes);

// Five ways, for one phase of the targets. All but the last have zeros in the padding, which must
// not meet what is not finite in the kernel.
//
// As matrix products whose right operand is packed: good where a group has many target channels.
template <class T>
void correlate_by_products(const Correlation<T> &at, const Phases &phase);

// As matrix products whose right operand is read from bands. Does nothing where the other way is
// better, and says so.
template <class T>
bool correlate_by_bands(const Correlation<T> &at, const Phases &phase);

// As sums of weighted lines: good for one or two target channels.
template <class T>
void correlate_by_lines(const Correlation<T> &at, const Phases &phase);

// With a group of a sample in each lane: good for few target channels and short lines. Does nothing
// where other ways are better, and says so.
template <class T>
bool correlate_by_group_lanes(const Correlation<T> &at, const Phases &phase);

// The same, tap by tap, without padding.
template <class T>
void correlate_by_taps(const Correlation<T> &at, const Phases &phase);

// d_kernel[window channel, position channel, tap]: the sum of products over all windows.
template <class T>
struct KernelGradient {
  tl_instance &instance;
  int64_t batch;
  int64_t groups;
  const WindowGrid &windows;
  int64_t window_channels;  // of a group
  int64_t position_channels;
  const T *on_windows;
  const T *on_positions;
  T *d_kernel;

  // With a window channel in each lane and without padding. Does nothing where the other way is
  // better, and says so.
  bool run_in_lanes() const;

  // With zeros in the padding, which must not meet what is not finite on the windows.
  void run() const;
};

}  // namespace torchlean::cpu
