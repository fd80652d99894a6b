// Windows that slide over three axes, looked at one tap of all windows at a time.
//
// Along an axis, tap k of window w lies on position w * stride + k * dilation - before; where there
// is no such position, it lies in the padding.
#pragma once

#include "libtorch.hpp"

namespace torchlean::libtorch {

struct WindowAxis {
  int64_t windows;
  int64_t taps;
  int64_t positions;
  int64_t stride;
  int64_t dilation;
  int64_t before;  // padding on either side
  int64_t after;

  // Throw unless each member is as large as its name demands and, with params.out[axis] the number
  // of windows (of positions), it is the one that the others make it.
  void check_windows(size_t axis, bool has_windows = true) const;
  void check_positions(size_t axis) const;
};

// The product of the sizes of `argument`; throws where no buffer is that long.
int64_t volume(const char *argument, std::initializer_list<int64_t> sizes);

// The tensor of an operand of this dtype and shape.
at::Tensor shaped_operand(const char *argument, const tl_operand *operand, tl_dtype dtype,
                          std::initializer_list<int64_t> shape);

// One tap of those windows for which it lies on a position.
struct Tap {
  struct Along {
    int64_t windows;  // how many
    int64_t first_window;
    int64_t first_position;
  };

  uint64_t number;  // row-major, modulo 2^64
  std::array<Along, 3> along;
};

class Windows {
 public:
  explicit Windows(const std::array<WindowAxis, 3> &axes) : axes_(axes) {}

  const WindowAxis &operator[](size_t axis) const { return axes_[axis]; }

  // Views of a dense tensor whose last three axes are windows (positions): (everything in front,
  // windows that have the tap...), each with the position that the tap lies on at the same place.
  at::Tensor on_windows(const at::Tensor &t, const Tap &tap) const;
  at::Tensor on_positions(const at::Tensor &t, const Tap &tap) const;

  // Calls visit(tap) for each tap that lies on a position in some window, in row-major order.
  template <class Visit>
  void each_tap(Visit visit) const {
    for (int64_t i = next(0, 0); i < axes_[0].taps; i = next(0, i + 1))
      for (int64_t j = next(1, 0); j < axes_[1].taps; j = next(1, j + 1))
        for (int64_t k = next(2, 0); k < axes_[2].taps; k = next(2, k + 1))
          visit(Tap{number(i, j, k), {along(0, i), along(1, j), along(2, k)}});
  }

  // Whether ATen, whose kernels count in 32 bits here and there, takes these sizes.
  bool fit_aten() const;

  // The number of leading axes that ATen need not know: it has kernels for two axes and for three.
  size_t skipped_axes() const;

 private:
  Tap::Along along(size_t axis, int64_t tap) const;
  int64_t next(size_t axis, int64_t tap) const;
  uint64_t number(int64_t i, int64_t j, int64_t k) const {
    const auto extent_of = [&](size_t axis) { return static_cast<uint64_t>(axes_[axis].taps); };
    return (static_cast<uint64_t>(i) * extent_of(1) + static_cast<uint64_t>(j)) * extent_of(2) +
           static_cast<uint64_t>(k);
  }

  std::array<WindowAxis, 3> axes_;
};

}  // namespace torchlean::libtorch
