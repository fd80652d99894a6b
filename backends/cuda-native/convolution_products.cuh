// Convolutions and their gradients as products (gathered_product.cuh), told apart by sizes and
// strides alone.
//
// Windows lie on positions: an ordinary convolution's windows are its results, which lie on the
// input; a transposed one's are its input, which lies on the results. A result, and the gradient of
// an input, is a sum over the taps that tie one side to the other; the gradient of a kernel is a
// sum over the windows.
#pragma once

#include "gathered_product.cuh"
#include "windows.hpp"

namespace torchlean::cuda {

inline uint64_t unsigned_of(int64_t value) { return static_cast<uint64_t>(value); }
inline uint32_t digit_of(uint64_t value) { return static_cast<uint32_t>(value); }

// One of the two arrays that a convolution ties together.
struct ConvolutionSide {
  uint64_t channels;
  uint64_t group_channels;
  uint64_t size;           // elements of a channel
  uint64_t stride[3];      // elements from one index of an axis to the next
  uint64_t kernel_stride;  // in the kernel, from one channel to the next
};

struct Convolution {
  Convolution(tl_convolution_op op, const ConvolutionShape &of)
      : shape(of), is_transposed(op == TL_CONVOLUTION_TRANSPOSED) {
    const tl_convolution_params &p = shape.params;
    in = {p.in_channels, p.in_channels / p.groups, shape.in_size, {}, shape.taps};
    out = {p.out_channels, p.out_channels / p.groups, shape.out_size, {}, shape.taps};
    (is_transposed ? in : out).kernel_stride *= (is_transposed ? out : in).channels;
    fill_strides((is_transposed ? in : out).stride, &SlidingAxis::windows);
    fill_strides((is_transposed ? out : in).stride, &SlidingAxis::positions);
    fill_strides(tap_stride, &SlidingAxis::taps);
    group_kernel = in.group_channels * in.kernel_stride + out.group_channels * out.kernel_stride;
  }
  const ConvolutionSide &windows() const { return is_transposed ? in : out; }
  const ConvolutionSide &positions() const { return is_transposed ? out : in; }

  const ConvolutionShape &shape;
  const bool is_transposed;
  ConvolutionSide in;
  ConvolutionSide out;
  uint64_t tap_stride[3];
  uint64_t group_kernel;  // elements from the kernel's block of one group to the next

 private:
  void fill_strides(uint64_t (&strides)[3], int64_t SlidingAxis::*size) const {
    strides[2] = 1;
    strides[1] = unsigned_of(shape.axes[2].*size);
    strides[0] = strides[1] * unsigned_of(shape.axes[1].*size);
  }
};

// result[n, r, i] = the sum over channels s and taps of kernel[r, s, tap] * source[n, s, what tap
// ties to i]
inline GatheredProduct product_over_taps(const Convolution &at, bool is_forward) {
  const ConvolutionSide &result = is_forward ? at.out : at.in;
  const ConvolutionSide &source = is_forward ? at.in : at.out;
  GatheredProduct product{};
  for (size_t a = 0; a < 3; ++a) {
    const SlidingAxis &axis = at.shape.axes[a];
    ProductAxis &to = product.axis[a];
    to.terms = digit_of(unsigned_of(axis.taps));
    to.source_stride = source.stride[a];
    to.matrix_stride = at.tap_stride[a];
    to.result_stride = result.stride[a];
    if (&result == &at.windows()) {
      to.columns = digit_of(unsigned_of(axis.windows));
      to.column_step = axis.stride;
      to.term_step = axis.dilation;
      to.origin = -axis.padding;
      to.extent = axis.positions;
      to.stride = 1;
      to.phases = 1;
    } else {
      to.columns = digit_of(unsigned_of(axis.positions));
      to.column_step = 1;
      to.term_step = -1;
      to.origin = axis.padding;
      to.extent = axis.windows;
      to.stride = axis.stride;
      to.padding = axis.padding;
      to.phases = digit_of(unsigned_of(std::min(axis.stride, axis.positions)));
    }
  }
  product.rows = digit_of(result.group_channels);
  product.outer_columns = digit_of(at.shape.params.batch);
  product.outer_terms = digit_of(source.group_channels);
  product.groups = digit_of(at.shape.params.groups);
  product.row_matrix = result.kernel_stride;
  product.row_result = result.size;
  product.outer_column_source = source.channels * source.size;
  product.outer_column_result = result.channels * result.size;
  product.outer_term_source = source.size;
  product.outer_term_matrix = source.kernel_stride;
  product.group_matrix = at.group_kernel;
  product.group_source = source.group_channels * source.size;
  product.group_result = result.group_channels * result.size;
  return product;
}

// d_kernel[r, c, tap] = the sum over samples and windows of windows[n, r, w] * positions[n, c, what
// tap ties to w]
inline GatheredProduct product_over_windows(const Convolution &at) {
  const ConvolutionSide &matrix = at.windows();
  const ConvolutionSide &source = at.positions();
  GatheredProduct product{};
  for (size_t a = 0; a < 3; ++a) {
    const SlidingAxis &axis = at.shape.axes[a];
    ProductAxis &to = product.axis[a];
    to.columns = digit_of(unsigned_of(axis.taps));
    to.terms = digit_of(unsigned_of(axis.windows));
    to.column_step = axis.dilation;
    to.term_step = axis.stride;
    to.origin = -axis.padding;
    to.extent = axis.positions;
    to.stride = 1;
    to.phases = 1;
    to.source_stride = source.stride[a];
    to.matrix_stride = matrix.stride[a];
    to.result_stride = at.tap_stride[a];
  }
  product.rows = digit_of(matrix.group_channels);
  product.outer_columns = digit_of(source.group_channels);
  product.outer_terms = digit_of(at.shape.params.batch);
  product.groups = digit_of(at.shape.params.groups);
  product.row_matrix = matrix.size;
  product.row_result = matrix.kernel_stride;
  product.outer_column_source = source.size;
  product.outer_column_result = source.kernel_stride;
  product.outer_term_source = source.channels * source.size;
  product.outer_term_matrix = matrix.channels * matrix.size;
  product.group_matrix = matrix.group_channels * matrix.size;
  product.group_source = source.group_channels * source.size;
  product.group_result = at.group_kernel;
  return product;
}

}  // namespace torchlean::cuda
