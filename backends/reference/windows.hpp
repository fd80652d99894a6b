// Windows that slide over three axes: which tap of which window lies on which position.
//
// Along an axis, tap k of window w lies on position w * stride + k * dilation - padding; where
// there is no such position, it lies in the padding.
#pragma once

#include "reference.hpp"

namespace torchlean::reference {

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

// The windows that fit into padded positions.
WindowAxis windows_in(int64_t positions, int64_t taps, int64_t stride, int64_t dilation,
                      int64_t before, int64_t after);

// The positions that windows cover, less the padding.
WindowAxis positions_under(int64_t windows, int64_t taps, int64_t stride, int64_t dilation,
                           int64_t before, int64_t after);

// Throws unless params.<member>[axis] is at least `least`.
void expect_at_least(const char *member, size_t axis, int64_t value, int64_t least);

// Throws unless params.out[axis] is the length that the other members make it.
void expect_length(size_t axis, int64_t out, int64_t expected);

class Windows {
 public:
  explicit Windows(const std::array<WindowAxis, 3> &axes) : axes_(axes) {}

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

}  // namespace torchlean::reference
