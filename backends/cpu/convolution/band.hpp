// A piece of a convolution's source with zeros around it, in which every tap is an offset.
//
// A band holds what some neighbouring places read of some channels. Rows and columns are split by
// what is left of their index divided by the distance of two places, so that neighbouring places
// read neighbours: all between the outermost taps of an axis, or, where these lie far apart, a copy
// for each tap.
#pragma once

#include "convolution/kernels.hpp"
#include "convolution/phases.hpp"

namespace torchlean::cpu {

// Places of a phase whose lines lie in one plane: `lines` from `second` on, and of each of them
// `length` from `third` on.
struct Places {
  int64_t first;
  int64_t second;
  int64_t lines;
  int64_t third;
  int64_t length;
};

template <class T>
class Band {
 public:
  // For at most so many lines of so many places.
  Band(const ConvolutionKernels<T> &kernels, const Phases &phase, int64_t lines, int64_t length);

  int64_t lines() const { return lines_; }

  // Elements of a channel's piece, and of all that are read behind the last one.
  int64_t channel_stride() const { return channel_stride_; }
  static constexpr int64_t slack = 64 / sizeof(T);

  // From a place to the one in the next line. Zeros that end a line may begin the next one.
  int64_t line_stride() const { return line_stride_; }

  // Where the taps of the first place lie, row-major, and what of it is due to each axis.
  const std::vector<int64_t> &taps() const { return taps_; }
  const std::vector<int64_t> &plane_offsets() const { return planes_; }
  const std::vector<int64_t> &row_offsets() const { return rows_; }
  const std::vector<int64_t> &col_offsets() const { return cols_; }

  // Copies what these places read of so many channels, the first of which begins at `source`.
  void fill(const Places &places, const T *source, int64_t channels, T *to) const;

 private:
  // Element i of a track is element (place + shift + i) * source_step + residue of the source.
  struct Track {
    int64_t residue;
    int64_t shift;
  };

  // An axis of the band: tracks of as many elements as there are places and `extra` more, and where
  // each tap lies.
  struct Axis {
    std::vector<Track> tracks;
    int64_t extra = 0;
    struct Tap {
      int64_t track;
      int64_t shift;
    };
    std::vector<Tap> taps;
  };

  static Axis lay(const Phase &phase, int64_t places);
  int64_t shared_zeros(int64_t length) const;
  void fill_plane(const Places &places, const T *plane, T *to) const;

  const ConvolutionKernels<T> &kernels_;
  const Phases phase_;
  const int64_t lines_;
  const Axis second_;
  const Axis third_;
  int64_t line_stride_;
  int64_t track_stride_;  // from lines of one residue to those of the next one
  int64_t plane_stride_;
  int64_t channel_stride_;
  std::vector<int64_t> planes_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> cols_;
  std::vector<int64_t> taps_;
};

}  // namespace torchlean::cpu
