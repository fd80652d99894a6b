// Windows that slide over three axes, checked, as kernels want them.
//
// Along an axis, tap k of window w lies on position w * stride + k * dilation - padding; where
// there is no such position, it lies in the padding.
#pragma once

#include <torchlean/backend.hpp>

#include <array>
#include <cstdint>

namespace torchlean::cuda {

// All indices along the axis stay within 63 bits.
struct SlidingAxis {
  int64_t windows;
  int64_t taps;
  int64_t positions;
  int64_t stride;
  int64_t dilation;
  int64_t padding;  // before the first position
};

struct ConvolutionShape {
  tl_convolution_params params;
  std::array<SlidingAxis, 3> axes;
  // Elements of a sample's channel, and of a kernel's pair of channels; saturated.
  uint64_t in_size;
  uint64_t out_size;
  uint64_t taps;
  // Elements of the operands, saturated.
  uint64_t input_count;
  uint64_t output_count;
  uint64_t kernel_count;
};

struct PoolingShape {
  tl_pooling_params params;  // beta rounded to the dtype; 0 where the pool has none
  std::array<SlidingAxis, 3> axes;
  uint64_t in_size;
  uint64_t out_size;
  uint64_t input_count;
  uint64_t output_count;
  double volume;  // of a window, its padding included
};

// Throw, naming `operation`, where params contradict themselves.
ConvolutionShape checked_shape(const char *operation, tl_convolution_op op,
                               const tl_convolution_params &params);
PoolingShape checked_shape(const char *operation, tl_pooling_op op, tl_dtype dtype,
                           const tl_pooling_params &params);

}  // namespace torchlean::cuda
