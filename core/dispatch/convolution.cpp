// Convolution family: cross-correlation and its transpose over 1 to 3 spatial axes, with gradients.
#include <algorithm>

#include "dispatch/windows.hpp"

namespace torchlean {
namespace {

// Pinned operands and canonical shape; `call` has failed where they do not fit.
struct Convolution {
  const tl_operand *input = nullptr;
  const tl_operand *kernel = nullptr;
  tl_convolution_params params = {};
  std::uint64_t count = 0;  // elements of the output
};

struct SampleArguments {
  const tl_buffer *input;
  const tl_buffer *kernel;
  tl_list in_spatial;
  tl_list kernel_spatial;
  tl_list stride;
  tl_list padding;
  std::uint64_t in_channels;
  std::uint64_t out_channels;
};

// Floor((in + before + after - d * (k - 1) - 1) / s) + 1 on each axis.
void write_lengths(tl_convolution_params &params) {
  for (std::size_t axis = 0; axis < spatial_axes; ++axis) {
    params.out[axis] =
        window_places(params.in[axis] + params.padding_before[axis] + params.padding_after[axis],
                      params.kernel[axis], params.dilation[axis], params.stride[axis]);
  }
}

// max(0, (in - 1) * s + k - 2p) on each axis; the axes in front have 1.
void write_transposed_lengths(Call &call, tl_convolution_params &params) {
  for (std::size_t axis = 0; axis < spatial_axes; ++axis) {
    const std::int64_t margin =
        params.kernel[axis] - params.padding_before[axis] - params.padding_after[axis];
    std::int64_t length = 0;
    if (__builtin_mul_overflow(params.in[axis] - 1, params.stride[axis], &length) ||
        __builtin_add_overflow(length, margin, &length)) {
      call.refuse(TL_INVALID_ARGUMENT,
                  "an output length does not fit 63 bits: inSpatial has {}, stride {}",
                  params.in[axis], params.stride[axis]);
      return;
    }
    params.out[axis] = std::max<std::int64_t>(length, 0);
  }
}

// One sample, symmetric padding, no dilation, no groups.
Convolution one_sample(Call &call, tl_convolution_op op, const SampleArguments &given) {
  Convolution conv;
  tl_convolution_params &params = conv.params;
  params.struct_size = sizeof params;
  params.batch = 1;
  params.in_channels = given.in_channels;
  params.out_channels = given.out_channels;
  params.groups = 1;
  params.dense_kernel = 1;
  std::fill(std::begin(params.dilation), std::end(params.dilation), 1);
  conv.input = call.native("input", given.input);
  conv.kernel = call.native("kernel", given.kernel);
  const std::span<const std::uint64_t> in = entries(call, "inSpatial", given.in_spatial);
  const std::span<const std::uint64_t> padding = entries(call, "padding", given.padding);
  const std::size_t rank = in.size();
  check_spatial_rank(call, "inSpatial", rank);
  write_axes(call, "inSpatial", in, 0, rank, 0, 1, params.in);
  write_axes(call, "kernelSpatial", entries(call, "kernelSpatial", given.kernel_spatial), 0, rank,
             1, 1, params.kernel);
  write_axes(call, "stride", entries(call, "stride", given.stride), 0, rank, 1, 1, params.stride);
  write_axes(call, "padding", padding, 0, rank, 0, 0, params.padding_before);
  write_axes(call, "padding", padding, 0, rank, 0, 0, params.padding_after);
  const std::array<std::uint64_t, 1> in_front = {given.in_channels};
  const std::array<std::uint64_t, 1> out_front = {given.out_channels};
  const std::array<std::uint64_t, 2> kernel_front = {given.in_channels, given.out_channels};
  call.check_count("input", conv.input, volume(call, "inC and inSpatial", in_front, params.in),
                   "inC * the product of inSpatial");
  call.check_count("kernel", conv.kernel,
                   volume(call, "inC, outC and kernelSpatial", kernel_front, params.kernel),
                   "inC * outC * the product of kernelSpatial");
  if (call.failed()) return conv;
  if (op == TL_CONVOLUTION) {
    write_lengths(params);
  } else {
    write_transposed_lengths(call, params);
  }
  conv.count = volume(call, "outC and the output lengths", out_front, params.out);
  return conv;
}

// (leading..., inC, spatial...) and (outC, inC, spatial...): what the lists of tl_conv hold.
Convolution batched(Call &call, const tl_buffer *input, const tl_buffer *kernel,
                    const tl_conv_lists &lists, std::uint64_t groups) {
  Convolution conv;
  tl_convolution_params &params = conv.params;
  params.struct_size = sizeof params;
  params.groups = groups;
  params.dense_kernel = 1;
  conv.input = call.native("input", input);
  conv.kernel = call.native("kernel", kernel);
  const std::span<const std::uint64_t> in = entries(call, "inputDims", lists.input_dims);
  const std::span<const std::uint64_t> filter = entries(call, "kernelDims", lists.kernel_dims);
  if (call.failed()) return conv;
  if (filter.size() < 2) {
    call.refuse(TL_INVALID_ARGUMENT,
                "kernelDims has {} entries, expected outC, inC and 1 to 3 axes", filter.size());
    return conv;
  }
  const std::size_t rank = filter.size() - 2;
  check_spatial_rank(call, "kernelDims", rank);
  if (in.size() < rank + 1) {
    call.refuse(TL_INVALID_ARGUMENT, "inputDims has {} entries, expected inC and {} spatial axes",
                in.size(), rank);
  }
  if (call.failed()) return conv;
  const std::size_t leading = in.size() - rank - 1;
  params.in_channels = in[leading];
  params.out_channels = filter[0];
  if (filter[1] != params.in_channels) {
    call.refuse(TL_INVALID_ARGUMENT, "kernelDims[1] is {}, expected inC = {} as inputDims has",
                filter[1], params.in_channels);
  }
  call.check_positive("groups", groups);
  if (!call.failed() && (params.in_channels % groups != 0 || params.out_channels % groups != 0)) {
    call.refuse(TL_INVALID_ARGUMENT, "groups is {}, expected a divisor of inC = {} and outC = {}",
                groups, params.in_channels, params.out_channels);
  }
  write_axes(call, "inputDims", in, leading + 1, rank, 0, 1, params.in);
  write_axes(call, "kernelDims", filter, 2, rank, 1, 1, params.kernel);
  write_axes(call, "strides", entries(call, "strides", lists.strides), 0, rank, 1, 1,
             params.stride);
  write_axes(call, "paddingBefore", entries(call, "paddingBefore", lists.padding_before), 0, rank,
             0, 0, params.padding_before);
  write_axes(call, "paddingAfter", entries(call, "paddingAfter", lists.padding_after), 0, rank, 0,
             0, params.padding_after);
  write_axes(call, "dilations", entries(call, "dilations", lists.dilations), 0, rank, 1, 1,
             params.dilation);
  call.check_count("input", conv.input, call.product("inputDims", in), "the product of inputDims");
  call.check_count("kernel", conv.kernel, call.product("kernelDims", filter),
                   "the product of kernelDims");
  if (call.failed()) return conv;
  write_lengths(params);
  std::array<std::uint64_t, largest_rank> front;
  std::copy_n(in.begin(), leading, front.begin());
  front[leading] = params.out_channels;
  conv.count =
      volume(call, "the output dimensions", std::span(front).first(leading + 1), params.out);
  // Of an empty result the batch is not needed, and need not fit 64 bits.
  if (conv.count != 0) params.batch = call.product("the leading axes", in.first(leading));
  return conv;
}

tl_status forward(Call &call, tl_convolution_op op, const Convolution &conv, const tl_buffer *bias,
                  tl_buffer **out) {
  const tl_operand *offset = call.native("bias", bias);
  call.check_count("bias", offset, conv.params.out_channels, "outC");
  return call.result(out, conv.count, [&](Backend &backend, tl_storage **storage) {
    return backend.convolution.forward(backend.instance, op, conv.input, conv.kernel, offset,
                                       &conv.params, 0, storage);
  });
}

tl_status backward(tl_operation operation, tl_convolution_op op, const SampleArguments &given,
                   const tl_buffer *grad, const std::array<tl_buffer **, 3> &out) {
  Call call(operation);
  const Convolution conv = one_sample(call, op, given);
  const tl_operand *gradient = call.native("grad", grad);
  call.check_count("grad", gradient, conv.count, "outC * the product of the output lengths");
  if (call.failed()) return call.status();
  const std::array<std::uint64_t, 3> counts = {conv.kernel->count, given.out_channels,
                                               conv.input->count};
  if (conv.count == 0) return call.filled<3>(out, counts, 0.0);
  return call.results<3>(out, counts, [&](Backend &backend, tl_storage **storages) {
    return backend.convolution.backward(backend.instance, op, conv.input, conv.kernel, gradient,
                                        &conv.params, 0, storages);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_conv(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *bias,
                  const tl_conv_lists *lists, uint64_t groups, tl_buffer **out) {
  Call call(TL_OP_conv);
  if (lists == nullptr || lists->struct_size < sizeof *lists) {
    return call.refuse(TL_INVALID_ARGUMENT, "lists is NULL or its struct_size is below {}",
                       sizeof *lists);
  }
  const Convolution conv = batched(call, input, kernel, *lists, groups);
  return forward(call, TL_CONVOLUTION, conv, bias, out);
}

tl_status tl_conv_fwd(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *bias,
                      tl_list in_spatial, tl_list kernel_spatial, tl_list stride, tl_list padding,
                      uint64_t in_channels, uint64_t out_channels, tl_buffer **out) {
  Call call(TL_OP_conv_fwd);
  const Convolution conv = one_sample(
      call, TL_CONVOLUTION,
      {input, kernel, in_spatial, kernel_spatial, stride, padding, in_channels, out_channels});
  return forward(call, TL_CONVOLUTION, conv, bias, out);
}

tl_status tl_conv_bwd(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *grad,
                      tl_list in_spatial, tl_list kernel_spatial, tl_list stride, tl_list padding,
                      uint64_t in_channels, uint64_t out_channels, tl_buffer **out_dkernel,
                      tl_buffer **out_dbias, tl_buffer **out_dinput) {
  return backward(
      TL_OP_conv_bwd, TL_CONVOLUTION,
      {input, kernel, in_spatial, kernel_spatial, stride, padding, in_channels, out_channels}, grad,
      {out_dkernel, out_dbias, out_dinput});
}

tl_status tl_convtranspose_fwd(const tl_buffer *input, const tl_buffer *kernel,
                               const tl_buffer *bias, tl_list in_spatial, tl_list kernel_spatial,
                               tl_list stride, tl_list padding, uint64_t in_channels,
                               uint64_t out_channels, tl_buffer **out) {
  Call call(TL_OP_convtranspose_fwd);
  const Convolution conv = one_sample(
      call, TL_CONVOLUTION_TRANSPOSED,
      {input, kernel, in_spatial, kernel_spatial, stride, padding, in_channels, out_channels});
  return forward(call, TL_CONVOLUTION_TRANSPOSED, conv, bias, out);
}

tl_status tl_convtranspose_bwd(const tl_buffer *input, const tl_buffer *kernel,
                               const tl_buffer *grad, tl_list in_spatial, tl_list kernel_spatial,
                               tl_list stride, tl_list padding, uint64_t in_channels,
                               uint64_t out_channels, tl_buffer **out_dkernel,
                               tl_buffer **out_dbias, tl_buffer **out_dinput) {
  return backward(
      TL_OP_convtranspose_bwd, TL_CONVOLUTION_TRANSPOSED,
      {input, kernel, in_spatial, kernel_spatial, stride, padding, in_channels, out_channels}, grad,
      {out_dkernel, out_dbias, out_dinput});
}

}  // extern "C"
