// The windows of a pool as its kernels see them: which entries a window has, which windows lie over
// an entry.
#pragma once

#include "places.cuh"
#include "row_threads.cuh"
#include "windows.hpp"

#include <type_traits>

namespace torchlean::cuda {

// Some indices, [begin, end).
struct Range {
  int64_t begin;
  int64_t end;
  __device__ uint64_t size() const { return static_cast<uint64_t>(end - begin); }
};

// The part of a window that lies on the input. It has an entry at least, since the padding is at
// most half of a window.
struct Box {
  Range along[3];
  __device__ uint64_t size() const { return along[0].size() * along[1].size() * along[2].size(); }
};

// An axis that windows without dilation slide along.
struct PoolAxis {
  explicit PoolAxis(const SlidingAxis &axis)
      : windows(axis.windows),
        taps(axis.taps),
        positions(axis.positions),
        padding(axis.padding),
        stride(static_cast<uint64_t>(axis.stride)) {}

  __device__ Range positions_of(int64_t window) const {
    const int64_t start = window * static_cast<int64_t>(stride.value()) - padding;
    return {start < 0 ? 0 : start, start + taps < positions ? start + taps : positions};
  }
  __device__ Range windows_over(int64_t position) const {
    const int64_t reach = position + padding;
    const int64_t last = strides_in(reach);
    return {reach < taps ? 0 : strides_in(reach - taps) + 1, last < windows ? last + 1 : windows};
  }
  __device__ int64_t strides_in(int64_t distance) const {
    return static_cast<int64_t>(stride.divide(static_cast<uint64_t>(distance)).quotient);
  }

  int64_t windows;
  int64_t taps;
  int64_t positions;
  int64_t padding;
  Divisor stride;
};

// Neither side is empty.
class Pool {
 public:
  explicit Pool(const PoolingShape &shape)
      : axes_{PoolAxis(shape.axes[0]), PoolAxis(shape.axes[1]), PoolAxis(shape.axes[2])},
        windows_(places(shape, &SlidingAxis::windows)),
        positions_(places(shape, &SlidingAxis::positions)),
        volume_(shape.volume) {}

  // The entries that window `flat` of all channels has.
  struct Window {
    uint64_t start;  // of its channel in the input
    Box box;
  };
  __device__ Window window(uint64_t flat) const {
    const Places::Place place = windows_.place(flat);
    return {place.channel * positions_.channel_size(),
            {{axes_[0].positions_of(place.at[0]), axes_[1].positions_of(place.at[1]),
              axes_[2].positions_of(place.at[2])}}};
  }

  // Calls visit(index in the channel) for this thread's share of the entries, in row-major order.
  template <class Threads, class Visit>
  __device__ void each_entry(const Box &box, Visit visit) const {
    if constexpr (std::is_same_v<Threads, ThreadPerRow>) {
      for (int64_t i = box.along[0].begin; i < box.along[0].end; ++i) {
        for (int64_t j = box.along[1].begin; j < box.along[1].end; ++j) {
          for (int64_t k = box.along[2].begin; k < box.along[2].end; ++k) {
            visit(positions_.flat(i, j, k));
          }
        }
      }
    } else {
      // A channel has less than 2^32 entries.
      const auto lines = static_cast<uint32_t>(box.along[1].size());
      const auto line = static_cast<uint32_t>(box.along[2].size());
      const uint64_t size = box.size();
      for (uint64_t e = Threads::index(); e < size; e += Threads::count()) {
        const auto entry = static_cast<uint32_t>(e);
        const uint32_t row = entry / line;
        visit(positions_.flat(box.along[0].begin + row / lines, box.along[1].begin + row % lines,
                              box.along[2].begin + entry % line));
      }
    }
  }

  // Calls visit(flat index of a window, the entry's index in its channel) for all windows over
  // entry `flat` of all channels, in row-major order.
  template <class Visit>
  __device__ void each_window_over(uint64_t flat, Visit visit) const {
    const Places::Place place = positions_.place(flat);
    const uint64_t channel_start = place.channel * windows_.channel_size();
    const Range first = axes_[0].windows_over(place.at[0]);
    const Range second = axes_[1].windows_over(place.at[1]);
    const Range third = axes_[2].windows_over(place.at[2]);
    for (int64_t i = first.begin; i < first.end; ++i) {
      for (int64_t j = second.begin; j < second.end; ++j) {
        for (int64_t k = third.begin; k < third.end; ++k) {
          visit(channel_start + windows_.flat(i, j, k), place.index);
        }
      }
    }
  }

  // Entries of a whole window, its padding included.
  __device__ double volume() const { return volume_; }

 private:
  static Places places(const PoolingShape &shape, int64_t SlidingAxis::*size) {
    const auto along = [&](size_t axis) { return static_cast<uint64_t>(shape.axes[axis].*size); };
    return {along(0), along(1), along(2)};
  }

  PoolAxis axes_[3];
  Places windows_;
  Places positions_;
  double volume_;
};

}  // namespace torchlean::cuda
