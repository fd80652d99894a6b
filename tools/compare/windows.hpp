// Windows of a case that slide over its spatial axes: lengths, and what meets what.
//
// Along an axis, tap k of window w lies on position w * stride + k * dilation - padding; where
// there is no such position, it lies in the padding. The windows of a convolution or a pool are its
// outputs, which lie on the input; those of a transposed convolution are its inputs, which lie on
// the outputs.
#pragma once

#include "compare/cases.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace torchlean::tools {

enum class WindowKind { convolution, transposed, pool };

enum class WindowSide : std::size_t { window, tap, position };

// A tap of a window that lies on a position: an index for each side.
class Meeting {
 public:
  std::uint64_t &operator[](WindowSide side) { return index_[static_cast<std::size_t>(side)]; }
  std::uint64_t operator[](WindowSide side) const { return index_[static_cast<std::size_t>(side)]; }

 private:
  std::array<std::uint64_t, 3> index_{};
};

class WindowGeometry {
 public:
  WindowGeometry(const WindowShape &shape, WindowKind kind);

  WindowSide in() const { return in_; }
  WindowSide out() const { return out_; }
  std::uint64_t length(std::size_t axis, WindowSide side) const;
  // Of all axes together.
  std::uint64_t count(WindowSide side) const;

  // All meetings of one index of a side, flat and row-major over the axes; those of one window in
  // the order of its taps.
  std::vector<Meeting> meetings(WindowSide side, std::uint64_t index) const;

 private:
  struct Axis {
    Meeting lengths;
    std::uint64_t stride;
    std::uint64_t dilation;
    std::uint64_t padding;
  };
  static std::vector<Meeting> meetings(const Axis &axis, WindowSide side, std::uint64_t index);

  std::vector<Axis> axes_;
  WindowSide in_;
  WindowSide out_;
};

// The sizes of what belongs to a convolution.
struct ConvolutionGeometry {
  ConvolutionGeometry(const WindowShape &shape, bool is_transposed);

  // Flat indices; n is a sample, o an output channel, c an input channel.
  std::uint64_t input(std::uint64_t n, std::uint64_t c, std::uint64_t i) const {
    return (n * in_channels + c) * in_count + i;
  }
  std::uint64_t output(std::uint64_t n, std::uint64_t o, std::uint64_t i) const {
    return (n * out_channels + o) * out_count + i;
  }
  std::uint64_t kernel(std::uint64_t o, std::uint64_t c, std::uint64_t tap) const {
    return (is_transposed ? c * out_channels + o : o * in_channels + c) * taps + tap;
  }
  bool same_group(std::uint64_t o, std::uint64_t c) const {
    return o / (out_channels / groups) == c / (in_channels / groups);
  }

  WindowGeometry windows;
  bool is_transposed;
  std::uint64_t batch;
  std::uint64_t in_channels;
  std::uint64_t out_channels;
  std::uint64_t groups;
  std::uint64_t in_count;   // of one channel
  std::uint64_t out_count;  // of one channel
  std::uint64_t taps;
};

// The lists of a call over one sample.
Windows windows_of(const WindowShape &shape);

// "2x3:c4-6:g2:5x7:k3x3:s1x2:p1x1-0x1:d2x1", without what says nothing.
std::string window_text(const WindowShape &shape);

}  // namespace torchlean::tools
