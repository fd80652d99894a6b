// A convolution's source as the right operand of a matrix product.
#include "convolution/image.hpp"

#include "blocks.hpp"

#include <algorithm>

namespace torchlean::cpu {
namespace {

// So many items that lie anywhere touch so many groups of `size`.
int64_t touched(int64_t items, int64_t size) { return (items + size - 2) / size + 1; }

}  // namespace

template <class T>
ImageRight<T>::ImageRight(const ConvolutionKernels<T> &kernels, const Phases &phase, int64_t rows,
                          int64_t cols)
    : kernels_(kernels),
      phase_(phase),
      cuts_lines_(cols <= phase[2]->count),
      most_lines_(cuts_lines_ ? 1 : std::min(phase[1]->count, touched(cols, phase[2]->count))),
      most_pieces_(cuts_lines_ ? 2 : touched(touched(cols, phase[2]->count), phase[1]->count)),
      band_(kernels, phase, most_lines_, std::min(cols, phase[2]->count)),
      most_channels_(touched(rows, static_cast<int64_t>(band_.taps().size()))) {}

template <class T>
int64_t ImageRight<T>::scratch_size() const {
  return most_pieces_ * most_channels_ * band_.channel_stride() + Band<T>::slack;
}

template <class T>
void ImageRight<T>::look_at(const T *source, int64_t sample_stride, T *scratch) {
  source_ = source;
  sample_stride_ = sample_stride;
  scratch_ = scratch;
}

template <class T>
void ImageRight<T>::prepare(int64_t row, int64_t depth, int64_t col, int64_t cols) {
  const auto taps = static_cast<int64_t>(band_.taps().size());
  first_channel_ = row / taps;
  channels_ = (row + depth - 1) / taps + 1 - first_channel_;
  next_piece_ = scratch_;
  runs_.clear();
  const int64_t length = phase_[2]->count;
  const int64_t lines = phase_[1]->count;
  const int64_t planes = phase_[0]->count;
  for (int64_t at = col; at < col + cols;) {
    const int64_t third = at % length;
    const int64_t second = at / length % lines;
    const int64_t first = at / length / lines % planes;
    const int64_t sample = at / length / lines / planes;
    const int64_t left = col + cols - at;
    if (cuts_lines_) {
      const int64_t here = std::min(left, length - third);
      prepare_places(sample, {first, second, 1, third, here}, at);
      at += here;
    } else {
      const int64_t here = std::min(lines - second, blocks_in(third + left, length));
      prepare_places(sample, {first, second, here, 0, length}, at - third);
      at += here * length - third;
    }
  }
}

template <class T>
void ImageRight<T>::prepare_places(int64_t sample, const Places &places, int64_t col) {
  const int64_t plane = phase_[0]->source_size * phase_[1]->source_size * phase_[2]->source_size;
  band_.fill(places, source_ + sample * sample_stride_ + first_channel_ * plane, channels_,
             next_piece_);
  for (int64_t i = 0; i < places.lines; ++i)
    runs_.push_back(
        {next_piece_ - scratch_ + i * band_.line_stride(), col + i * places.length, places.length});
  next_piece_ += channels_ * band_.channel_stride();
}

template <class T>
void ImageRight<T>::pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to,
                         int64_t width) {
  chosen_.clear();
  for (const Run &run : runs_) {
    const int64_t first = std::max(run.first, col);
    const int64_t end = std::min(run.first + run.length, col + cols);
    if (first < end) chosen_.push_back({run.from + first - run.first, first - col, end - first});
  }
  const auto taps = static_cast<int64_t>(band_.taps().size());
  kernels_.pack({scratch_, band_.channel_stride(), band_.taps().data(), taps}, chosen_.data(),
                static_cast<int64_t>(chosen_.size()), row - first_channel_ * taps, depth, to,
                width);
}

template class ImageRight<float>;
template class ImageRight<double>;

}  // namespace torchlean::cpu
