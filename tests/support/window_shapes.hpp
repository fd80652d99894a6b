// The parameters of pools and convolutions, with what meets in their windows. Tests add the calls.
#pragma once

#include <torchlean/backend.h>

#include "window_oracle.hpp"

namespace torchlean::test {

struct PoolShape {
  tl_pooling_op op = TL_POOLING_MAX;
  tl_pooling_params params = {sizeof params, 1,         {1, 1, 1}, {1, 1, 1},
                              {1, 1, 1},     {0, 0, 0}, {1, 1, 1}, 0};

  void set_axis(size_t axis, int64_t in, int64_t kernel, int64_t stride, int64_t padding) {
    params.in[axis] = in;
    params.kernel[axis] = kernel;
    params.stride[axis] = stride;
    params.padding[axis] = padding;
    params.out[axis] =
        in == 0 || padding > kernel / 2 ? 0 : window_count(in, kernel, stride, padding, padding, 1);
  }

  uint64_t input_count() const { return params.channels * volume(params.in); }
  uint64_t output_count() const { return params.channels * volume(params.out); }

  // The entries of every window, as indices of the whole input, in row-major order of the window.
  std::vector<std::vector<uint64_t>> entries() const {
    std::array<OracleAxis, 3> axes;
    for (size_t i = 0; i < 3; ++i)
      axes[i] = {params.out[i],    params.kernel[i], params.in[i], params.stride[i], 1,
                 params.padding[i]};
    const auto all = meetings(axes);
    std::vector<std::vector<uint64_t>> windows(output_count());
    for (uint64_t c = 0; c < params.channels; ++c)
      for (const Meeting &m : all)
        windows[c * volume(params.out) + m.window].push_back(c * volume(params.in) + m.position);
    return windows;
  }
};

// One row of one channel.
template <class Pool>
Pool row_of_one_channel(tl_pooling_op op, int64_t in, int64_t kernel, int64_t stride,
                        int64_t padding, double beta = 0) {
  Pool pool;
  pool.op = op;
  pool.params.beta = beta;
  pool.set_axis(2, in, kernel, stride, padding);
  return pool;
}

// The last NaN, else the first entry that no other exceeds.
template <class T>
uint64_t winner(const std::vector<T> &x, const std::vector<uint64_t> &entries) {
  const auto last_nan =
      std::find_if(entries.rbegin(), entries.rend(), [&](uint64_t i) { return std::isnan(x[i]); });
  if (last_nan != entries.rend()) return *last_nan;
  return *std::max_element(entries.begin(), entries.end(),
                           [&](uint64_t i, uint64_t j) { return x[i] < x[j]; });
}

struct ConvolutionShape {
  tl_convolution_op op = TL_CONVOLUTION;
  tl_convolution_params params = {
      sizeof params, 1,         1,         1,         1,         1,         0,
      {1, 1, 1},     {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}};

  bool transposed() const { return op == TL_CONVOLUTION_TRANSPOSED; }

  void set_axis(size_t axis, int64_t in, int64_t kernel, int64_t stride, int64_t before,
                int64_t after, int64_t dilation) {
    params.in[axis] = in;
    params.kernel[axis] = kernel;
    params.stride[axis] = stride;
    params.padding_before[axis] = before;
    params.padding_after[axis] = after;
    params.dilation[axis] = dilation;
    params.out[axis] =
        transposed()
            ? std::max<int64_t>(0, (in - 1) * stride + dilation * (kernel - 1) + 1 - before - after)
            : window_count(in, kernel, stride, before, after, dilation);
  }

  uint64_t input_count() const { return params.batch * params.in_channels * volume(params.in); }
  uint64_t output_count() const { return params.batch * params.out_channels * volume(params.out); }
  uint64_t kernel_count() const {
    return params.in_channels * params.out_channels * volume(params.kernel);
  }

  // Calls visit(x, w, y) with the flat indices of every product of section 10.
  template <class Visit>
  void each_product(Visit visit) const {
    std::array<OracleAxis, 3> axes;
    for (size_t i = 0; i < 3; ++i)
      axes[i] = {transposed() ? params.in[i] : params.out[i],
                 params.kernel[i],
                 transposed() ? params.out[i] : params.in[i],
                 params.stride[i],
                 params.dilation[i],
                 params.padding_before[i]};
    const auto all = meetings(axes);
    const uint64_t in_part = params.in_channels / params.groups;
    const uint64_t out_part = params.out_channels / params.groups;
    for (uint64_t n = 0; n < params.batch; ++n)
      for (uint64_t group = 0; group < params.groups; ++group)
        for (uint64_t c = group * in_part; c < (group + 1) * in_part; ++c)
          for (uint64_t o = group * out_part; o < (group + 1) * out_part; ++o)
            for (const Meeting &m : all) {
              const uint64_t i = transposed() ? m.window : m.position;
              const uint64_t y = transposed() ? m.position : m.window;
              const uint64_t block =
                  transposed() ? c * params.out_channels + o : o * params.in_channels + c;
              visit((n * params.in_channels + c) * volume(params.in) + i,
                    block * volume(params.kernel) + m.tap,
                    (n * params.out_channels + o) * volume(params.out) + y);
            }
  }
};

}  // namespace torchlean::test
