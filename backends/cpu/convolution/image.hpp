// A convolution's source as the right operand of a matrix product.
#pragma once

#include "convolution/band.hpp"
#include "gemm.hpp"

namespace torchlean::cpu {

// Rows are pairs of channel and tap, columns the places of a phase in every sample.
template <class T>
class ImageRight final : public RightOperand<T> {
 public:
  // Of at most so many rows and columns at a time.
  ImageRight(const ConvolutionKernels<T> &kernels, const Phases &phase, int64_t rows, int64_t cols);

  // Elements of working memory that it needs.
  int64_t scratch_size() const;

  // The source of the first sample, and how far the others are apart.
  void look_at(const T *source, int64_t sample_stride, T *scratch);

  void prepare(int64_t row, int64_t depth, int64_t col, int64_t cols) override;
  void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to, int64_t width) override;

 private:
  void prepare_places(int64_t sample, const Places &places, int64_t col);

  const ConvolutionKernels<T> &kernels_;
  const Phases phase_;
  const bool cuts_lines_;  // a task's columns are less than a line
  const int64_t most_lines_;
  const int64_t most_pieces_;
  const Band<T> band_;
  const int64_t most_channels_;
  const T *source_ = nullptr;
  int64_t sample_stride_ = 0;
  T *scratch_ = nullptr;
  int64_t first_channel_ = 0;
  int64_t channels_ = 0;
  T *next_piece_ = nullptr;
  std::vector<Run> runs_;  // of the columns that were prepared
  std::vector<Run> chosen_;
};

// The same with rows for columns.
template <class T>
class TransposedImageRight final : public RightOperand<T> {
 public:
  TransposedImageRight(const GemmKernels<T> &kernels, ImageRight<T> &image, T *scratch)
      : kernels_(kernels), image_(image), scratch_(scratch) {}

  void prepare(int64_t row, int64_t depth, int64_t col, int64_t cols) override {
    image_.prepare(col, cols, row, depth);
  }

  void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to, int64_t width) override {
    image_.pack(col, cols, row, depth, scratch_, depth);
    kernels_.transpose(scratch_, depth, cols, depth, to, width);
  }

  static int64_t scratch_size(const GemmKernels<T> &kernels, int64_t depth) {
    return depth_block<T>(depth) * kernels.cols + kernels.lanes;
  }

 private:
  const GemmKernels<T> &kernels_;
  ImageRight<T> &image_;
  T *const scratch_;
};

}  // namespace torchlean::cpu
