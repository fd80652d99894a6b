// Shapes of the families convolution and pooling: square inputs with square windows.
#include "compare/windows.hpp"
#include "bench/workload.hpp"

#include <algorithm>

namespace torchlean::tools {
namespace {

std::uint64_t few_channels(std::uint64_t elements) { return std::min<std::uint64_t>(elements, 16); }

Dims twice(std::uint64_t length) { return {length, length}; }

// ---- Convolutions: batch, channels in and out, groups, side of input and window ----------------

Dims convolution_of(std::uint64_t elements) {
  const std::uint64_t channels = few_channels(elements);
  return {1, channels, channels, 1, side_of(elements / channels), 3};
}

const Scale batch_scale = {{{"small", {1, 3, 8, 1, 16, 3}},
                            {"medium", {1, 32, 32, 1, 28, 3}},
                            {"large", {8, 64, 64, 1, 56, 3}},
                            {"large", {8, 64, 64, 64, 56, 3}},
                            {"large", {8, 64, 256, 1, 56, 1}}},
                           convolution_of};
const Scale sample_scale = {{{"small", {1, 3, 8, 1, 16, 3}},
                             {"medium", {1, 32, 32, 1, 28, 3}},
                             {"large", {1, 64, 64, 1, 56, 3}}},
                            convolution_of};

template <bool is_batched, bool is_transposed, bool is_backward>
void convolution(Workload &row, const Dims &dims) {
  WindowShape &shape = row.one.windows;
  shape.in_channels = dims[1];
  shape.out_channels = dims[2];
  shape.groups = dims[3];
  shape.in = twice(dims[4]);
  shape.kernel = twice(dims[5]);
  shape.stride = twice(1);
  shape.before = twice(dims[5] / 2);
  if (is_batched) {
    shape.leading = {dims[0]};
    shape.after = shape.before;
    shape.dilation = twice(1);
  }
  row.one.shape = window_text(shape);
  const ConvolutionGeometry at(shape, is_transposed);
  const std::uint64_t input = at.batch * at.in_channels * at.in_count;
  const std::uint64_t kernel = at.in_channels * at.out_channels * at.taps;
  const std::uint64_t output = at.batch * at.out_channels * at.out_count;
  row.operands = {{input}, {kernel}, {is_backward ? output : at.out_channels}};
  row.results = is_backward ? kernel + at.out_channels + input : output;
  const std::uint64_t products =
      at.batch * (is_transposed ? at.in_count : at.out_count) * (kernel / at.groups);
  // A backward pass is two convolutions.
  row.flops = (is_backward ? 4.0 : 2.0) * static_cast<double>(products);
}

// ---- Pools: channels, side of input and window, stride -----------------------------------------

const Scale pool_scale = {{{"small", {4, 16, 2, 2}},
                           {"medium", {64, 28, 3, 2}},
                           {"large", {512, 56, 2, 2}},
                           {"large", {512, 56, 3, 2}}},
                          [](std::uint64_t n) {
                            const std::uint64_t channels = few_channels(n);
                            return Dims{channels, side_of(n / channels), 3, 2};
                          }};

template <bool takes_input, bool is_backward>
void pool(Workload &row, const Dims &dims) {
  WindowShape &shape = row.one.windows;
  shape.in_channels = dims[0];
  shape.in = twice(dims[1]);
  shape.kernel = twice(dims[2]);
  shape.stride = twice(dims[3]);
  shape.before = twice((dims[2] - 1) / 2);
  row.one.shape = window_text(shape);
  const WindowGeometry at(shape, WindowKind::pool);
  const std::uint64_t input = dims[0] * at.count(at.in());
  const std::uint64_t output = dims[0] * at.count(at.out());
  if (takes_input) row.operands.push_back({input});
  if (is_backward) row.operands.push_back({output});
  row.results = is_backward ? input : output;
}

}  // namespace

std::vector<Entry> window_entries() {
  return {
      {{"conv"}, &batch_scale, convolution<true, false, false>},
      {{"conv_fwd"}, &sample_scale, convolution<false, false, false>},
      {{"conv_bwd"}, &sample_scale, convolution<false, false, true>},
      {{"convtranspose_fwd"}, &sample_scale, convolution<false, true, false>},
      {{"convtranspose_bwd"}, &sample_scale, convolution<false, true, true>},
      {{"maxpool_fwd", "avgpool_fwd"}, &pool_scale, pool<true, false>},
      {{"maxpool_bwd"}, &pool_scale, pool<true, true>},
      {{"avgpool_bwd"}, &pool_scale, pool<false, true>},
      {{"smooth_maxpool_fwd"}, &pool_scale, pool<true, false>, {1}},
      {{"smooth_maxpool_bwd"}, &pool_scale, pool<true, true>, {1}},
  };
}

}  // namespace torchlean::tools
