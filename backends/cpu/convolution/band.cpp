// A piece of a convolution's source with zeros around it.
#include "convolution/band.hpp"

#include <algorithm>
#include <utility>

namespace torchlean::cpu {
namespace {

int64_t floor_of(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// How many elements of a line have this residue.
int64_t length_of(const Phase &axis, int64_t residue) {
  return (axis.source_size - residue + axis.source_step - 1) / axis.source_step;
}

}  // namespace

template <class T>
Band<T>::Band(const ConvolutionKernels<T> &kernels, const Phases &phase, int64_t lines,
              int64_t length)
    : kernels_(kernels),
      phase_(phase),
      lines_(lines),
      second_(lay(*phase[1], lines)),
      third_(lay(*phase[2], length)),
      line_stride_(length + third_.extra - shared_zeros(length)),
      track_stride_((lines + second_.extra) * line_stride_ + third_.extra),
      plane_stride_(static_cast<int64_t>(second_.tracks.size() * third_.tracks.size()) *
                    track_stride_),
      channel_stride_(static_cast<int64_t>(phase[0]->taps.size()) * plane_stride_) {
  for (size_t i = 0; i < phase[0]->taps.size(); ++i)
    planes_.push_back(static_cast<int64_t>(i) * plane_stride_);
  for (const auto &tap : second_.taps)
    rows_.push_back(tap.track * static_cast<int64_t>(third_.tracks.size()) * track_stride_ +
                    tap.shift * line_stride_);
  for (const auto &tap : third_.taps) cols_.push_back(tap.track * track_stride_ + tap.shift);
  for (const int64_t plane : planes_)
    for (const int64_t row : rows_)
      for (const int64_t col : cols_) taps_.push_back(plane + row + col);
}

template <class T>
typename Band<T>::Axis Band<T>::lay(const Phase &phase, int64_t places) {
  const auto same = [](const Track &a, const Track &b) { return a.residue == b.residue; };
  const auto below = [](const Track &a, const Track &b) { return a.residue < b.residue; };
  const auto lower = [](const Track &a, const Track &b) { return a.shift < b.shift; };
  Axis each;
  for (const AxisTap &tap : phase.taps) {
    const int64_t shift = floor_of(tap.offset, phase.source_step);
    each.taps.push_back({static_cast<int64_t>(each.tracks.size()), 0});
    each.tracks.push_back({tap.offset - shift * phase.source_step, shift});
  }
  Axis shared;
  shared.tracks = each.tracks;
  const auto [first, last] = std::minmax_element(each.tracks.begin(), each.tracks.end(), lower);
  shared.extra = last->shift - first->shift;
  for (Track &track : shared.tracks) track.shift = first->shift;
  std::sort(shared.tracks.begin(), shared.tracks.end(), below);
  shared.tracks.erase(std::unique(shared.tracks.begin(), shared.tracks.end(), same),
                      shared.tracks.end());
  for (const Track &own : each.tracks) {
    const auto track = std::lower_bound(shared.tracks.begin(), shared.tracks.end(), own, below);
    shared.taps.push_back({track - shared.tracks.begin(), own.shift - first->shift});
  }
  const auto size = [&](const Axis &axis) {
    return static_cast<int64_t>(axis.tracks.size()) * (places + axis.extra);
  };
  return size(shared) <= size(each) ? shared : each;
}

// Of a line with all its places, where every track has them.
template <class T>
int64_t Band<T>::shared_zeros(int64_t length) const {
  if (length < phase_[2]->count) return 0;
  int64_t least = third_.extra;
  for (const Track &track : third_.tracks) {
    const int64_t left = std::max<int64_t>(0, -track.shift);
    const int64_t right =
        track.shift + length + third_.extra - length_of(*phase_[2], track.residue);
    least = std::clamp<int64_t>(std::min(left, right), 0, least);
  }
  return least;
}

template <class T>
void Band<T>::fill(const Places &places, const T *source, int64_t channels, T *to) const {
  const int64_t planes = phase_[0]->source_size;
  const int64_t plane_size = phase_[1]->source_size * phase_[2]->source_size;
  for (int64_t c = 0; c < channels; ++c, source += planes * plane_size)
    for (const AxisTap &tap : phase_[0]->taps) {
      const int64_t plane = phase_[0]->read_by(places.first, tap);
      const bool is_inside = phase_[0]->is_inside(plane);
      fill_plane(places, is_inside ? source + plane * plane_size : nullptr, to);
      to += plane_stride_;
    }
}

// No plane means zeros. What a line writes too much, the next one writes over.
template <class T>
void Band<T>::fill_plane(const Places &places, const T *plane, T *to) const {
  const int64_t cols = phase_[2]->source_size;
  const int64_t step = phase_[2]->source_step;
  const int64_t width = places.length + third_.extra;
  for (const Track &row_track : second_.tracks)
    for (const Track &track : third_.tracks) {
      const int64_t begin = places.third + track.shift;
      const int64_t first = std::clamp<int64_t>(-begin, 0, width);
      const int64_t end = std::clamp(length_of(*phase_[2], track.residue) - begin, first, width);
      for (int64_t i = 0; i < places.lines + second_.extra; ++i) {
        const int64_t row =
            (places.second + row_track.shift + i) * phase_[1]->source_step + row_track.residue;
        const bool is_inside =
            plane != nullptr && row >= 0 && row < phase_[1]->source_size && first < end;
        T *const line = to + i * line_stride_;
        if (is_inside)
          kernels_.pad(plane + row * cols + (begin + first) * step + track.residue, step, first,
                       end - first, line, width);
        else
          kernels_.pad(nullptr, 1, width, 0, line, width);
      }
      to += track_stride_;
    }
}

template class Band<float>;
template class Band<double>;

}  // namespace torchlean::cpu
