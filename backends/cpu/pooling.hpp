// What both ways of pooling share: axes, and sums of gradients.
#pragma once

#include "pooling_kernels.hpp"

#include <torchlean/backend_windows.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace torchlean::cpu {

inline int64_t signed_of(uint64_t value) { return static_cast<int64_t>(value); }

// Some indices, [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

// An axis that windows without dilation slide along.
struct PoolAxis {
  explicit PoolAxis(const WindowAxis &axis)
      : windows(axis.size[Side::window]),
        taps(axis.size[Side::tap]),
        positions(axis.size[Side::position]),
        stride(axis.stride),
        padding(axis.padding) {}
  PoolAxis(int64_t some_windows, int64_t some_taps, int64_t some_positions, int64_t some_padding)
      : windows(some_windows),
        taps(some_taps),
        positions(some_positions),
        stride(1),
        padding(some_padding) {}

  int64_t start(int64_t w) const { return w * stride - padding; }
  Range positions_of(int64_t w) const {
    return {std::max<int64_t>(0, start(w)), std::min(positions, start(w) + taps)};
  }
  Range windows_over(int64_t i) const {
    const int64_t reach = i + padding;
    return {reach < taps ? 0 : (reach - taps) / stride + 1, std::min(windows, reach / stride + 1)};
  }
  // Windows that lie inside altogether.
  Range inner() const {
    const int64_t first = std::min(windows, (padding + stride - 1) / stride);
    const int64_t room = positions + padding - taps;
    return {first, std::max(first, room < 0 ? 0 : std::min(windows, room / stride + 1))};
  }
  // Windows that may lie on one position.
  int64_t overlap() const { return std::min(windows, (taps - 1) / stride + 1); }

  int64_t windows;
  int64_t taps;
  int64_t positions;
  int64_t stride;
  int64_t padding;
};

struct Pool {
  Pool(const PoolingGeometry &geometry, tl_pooling_op which)
      : op(which),
        axes{PoolAxis(geometry.windows[0]), PoolAxis(geometry.windows[1]),
             PoolAxis(geometry.windows[2])},
        channels(signed_of(geometry.params.channels)),
        in_size(signed_of(geometry.in_size)),
        out_size(signed_of(geometry.out_size)),
        volume(geometry.volume) {}

  // Windows that may lie on one entry.
  double overlap() const {
    double result = 1;
    for (const PoolAxis &axis : axes) result *= static_cast<double>(axis.overlap());
    return result;
  }

  // Of items that share out all entries: how many make a piece of a loop on several threads; all of
  // them where one thread is faster. `weight`: an entry's cost.
  uint64_t grain(uint64_t items, uint64_t weight = 1) const {
    constexpr uint64_t shared_from = uint64_t{1} << 15;
    constexpr uint64_t piece = uint64_t{1} << 11;
    const uint64_t cost = static_cast<uint64_t>(channels * in_size) * weight;
    return cost < shared_from ? items : std::max<uint64_t>(1, items * piece / cost);
  }

  tl_pooling_op op;
  std::array<PoolAxis, 3> axes;
  int64_t channels;
  int64_t in_size;
  int64_t out_size;
  double volume;
};

// Sums of what windows give to entries; compensated where many windows may lie on one entry.
template <class T>
class GradientSums {
 public:
  // As many terms are well added one after the other.
  static constexpr double most_plain = 64;

  GradientSums(const Pool &pool, T *sums) : sums_(sums) {
    std::fill_n(sums, pool.in_size, T(0));
    if (pool.overlap() > most_plain) lost_.resize(static_cast<size_t>(pool.in_size));
  }

  void add(int64_t i, T value) {
    if (lost_.empty()) {
      sums_[i] += value;
      return;
    }
    const T before = sums_[i];
    const T sum = before + value;
    const T added = sum - before;
    lost_[static_cast<size_t>(i)] += (before - (sum - added)) + (value - added);
    sums_[i] = sum;
  }

  void finish() {
    for (size_t i = 0; i < lost_.size(); ++i)
      if (std::isfinite(lost_[i])) sums_[i] += lost_[i];
  }

 private:
  T *const sums_;
  std::vector<T> lost_;
};

// Short lines of windows, of which vectors would hold few: a channel in each lane instead.
template <class T>
bool suits_channels(const tl_instance &instance, const Pool &pool);
template <class T>
void pool_channels(tl_instance &instance, const Pool &pool, T beta, const T *x, T *y);
template <class T>
void pool_channels_gradient(tl_instance &instance, const Pool &pool, T beta, const T *x, const T *g,
                            T *d_x);

}  // namespace torchlean::cpu
