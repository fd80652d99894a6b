// Calls of convolutions and pools whose lists are vectors.
#pragma once

#include <torchlean/runtime.h>

#include <cstdint>
#include <vector>

using Numbers = std::vector<std::uint64_t>;

inline tl_list list(const Numbers &values) { return {values.data(), values.size()}; }

struct ConvLists {
  Numbers input_dims = {2, 5};
  Numbers kernel_dims = {3, 2, 2};
  Numbers strides = {1};
  Numbers before = {0};
  Numbers after = {0};
  Numbers dilations = {1};
  std::uint64_t groups = 1;
};

inline tl_status conv(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *bias,
                      const ConvLists &lists, tl_buffer **out) {
  const tl_conv_lists given = {
      sizeof given,       list(lists.input_dims), list(lists.kernel_dims), list(lists.strides),
      list(lists.before), list(lists.after),      list(lists.dilations)};
  return tl_conv(input, kernel, bias, &given, lists.groups, out);
}

struct Windows {
  Numbers in = {5};
  Numbers kernel = {2};
  Numbers stride = {1};
  Numbers padding = {0};
};

// A one-sample convolution with an operand more, bias or gradient, and its outputs.
template <class Function, class... Outs>
tl_status sample(Function function, const tl_buffer *input, const tl_buffer *kernel,
                 const tl_buffer *third, const Windows &windows, std::uint64_t in_channels,
                 std::uint64_t out_channels, Outs... out) {
  return function(input, kernel, third, list(windows.in), list(windows.kernel),
                  list(windows.stride), list(windows.padding), in_channels, out_channels, out...);
}

inline tl_status maxpool(const tl_buffer *input, const Windows &windows, std::uint64_t channels,
                         tl_buffer **out) {
  return tl_maxpool_fwd(input, list(windows.in), list(windows.kernel), list(windows.stride),
                        list(windows.padding), channels, out);
}

inline tl_status smooth_maxpool(const tl_buffer *input, double beta, const Windows &windows,
                                std::uint64_t channels, tl_buffer **out) {
  return tl_smooth_maxpool_fwd(input, beta, list(windows.in), list(windows.kernel),
                               list(windows.stride), list(windows.padding), channels, out);
}
