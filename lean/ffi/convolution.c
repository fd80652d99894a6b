/* Lean symbols: convolutions, their transposes, and gradients. */
#include "call.h"
#include "symbols.h"

/* ---- A batch -------------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_conv_io(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                           b_lean_obj_arg bias, b_lean_obj_arg input_dims,
                                           b_lean_obj_arg kernel_dims, b_lean_obj_arg strides,
                                           b_lean_obj_arg padding_before,
                                           b_lean_obj_arg padding_after, b_lean_obj_arg dilations,
                                           uint32_t groups) {
  tl_lean_call call = tl_lean_io("conv_io");
  const tl_buffer *x = tl_lean_take_buffer(&call, "input", input);
  const tl_buffer *weights = tl_lean_take_buffer(&call, "kernel", kernel);
  const tl_buffer *offset = tl_lean_take_buffer(&call, "bias", bias);
  tl_lean_dims storage[6];
  tl_conv_lists lists = {.struct_size = sizeof lists};
  lists.input_dims = tl_lean_take_dims(&call, "inputDims", input_dims, storage[0]);
  lists.kernel_dims = tl_lean_take_dims(&call, "kernelDims", kernel_dims, storage[1]);
  lists.strides = tl_lean_take_dims(&call, "strides", strides, storage[2]);
  lists.padding_before = tl_lean_take_dims(&call, "paddingBefore", padding_before, storage[3]);
  lists.padding_after = tl_lean_take_dims(&call, "paddingAfter", padding_after, storage[4]);
  lists.dilations = tl_lean_take_dims(&call, "dilations", dilations, storage[5]);
  if (tl_lean_ok(&call)) {
    call.status = tl_conv(x, weights, offset, &lists, groups, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* ---- One sample ----------------------------------------------------------------------------- */

/* The functions of runtime.h for the ordinary and the transposed operation. */
typedef tl_status (*Forward)(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *bias,
                             tl_list in_spatial, tl_list kernel_spatial, tl_list stride,
                             tl_list padding, uint64_t in_channels, uint64_t out_channels,
                             tl_buffer **out);
typedef tl_status (*Backward)(const tl_buffer *input, const tl_buffer *kernel,
                              const tl_buffer *grad, tl_list in_spatial, tl_list kernel_spatial,
                              tl_list stride, tl_list padding, uint64_t in_channels,
                              uint64_t out_channels, tl_buffer **out_dkernel, tl_buffer **out_dbias,
                              tl_buffer **out_dinput);

static lean_obj_res forward(Forward convolve, const char *operation, b_lean_obj_arg input,
                            b_lean_obj_arg kernel, b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                            b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                            b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_buffer(&call, "input", input);
  const tl_buffer *weights = tl_lean_take_buffer(&call, "kernel", kernel);
  const tl_buffer *offset = tl_lean_take_buffer(&call, "bias", bias);
  tl_lean_windows w;
  tl_lean_take_windows(&call, in_spatial, "kernelSpatial", kernel_spatial, stride, padding, &w);
  if (tl_lean_ok(&call)) {
    call.status = convolve(x, weights, offset, w.in, w.kernel, w.stride, w.padding, in_c, out_c,
                           &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* (dKernel, (dBias, dInput)). */
static lean_obj_res backward(Backward differentiate, const char *operation, b_lean_obj_arg input,
                             b_lean_obj_arg kernel, b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                             b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                             b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_buffer(&call, "input", input);
  const tl_buffer *weights = tl_lean_take_buffer(&call, "kernel", kernel);
  const tl_buffer *gradient = tl_lean_take_buffer(&call, "grad", grad);
  tl_lean_windows w;
  tl_lean_take_windows(&call, in_spatial, "kernelSpatial", kernel_spatial, stride, padding, &w);
  if (tl_lean_ok(&call)) {
    call.status = differentiate(x, weights, gradient, w.in, w.kernel, w.stride, w.padding, in_c,
                                out_c, &call.out[0], &call.out[1], &call.out[2]);
  }
  return tl_lean_end(&call, 3);
}

lean_obj_res torchlean_cuda_conv_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                     b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                                     b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                     b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  return forward(tl_conv_fwd, "conv_fwd", input, kernel, bias, in_spatial, kernel_spatial, stride,
                 padding, in_c, out_c);
}

lean_obj_res torchlean_cuda_conv_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                     b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                     b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                     b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  return backward(tl_conv_bwd, "conv_bwd", input, kernel, grad, in_spatial, kernel_spatial, stride,
                  padding, in_c, out_c);
}

lean_obj_res torchlean_cuda_convtranspose_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                              b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                                              b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                              b_lean_obj_arg padding, uint32_t in_c,
                                              uint32_t out_c) {
  return forward(tl_convtranspose_fwd, "convtranspose_fwd", input, kernel, bias, in_spatial,
                 kernel_spatial, stride, padding, in_c, out_c);
}

lean_obj_res torchlean_cuda_convtranspose_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                              b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                              b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                              b_lean_obj_arg padding, uint32_t in_c,
                                              uint32_t out_c) {
  return backward(tl_convtranspose_bwd, "convtranspose_bwd", input, kernel, grad, in_spatial,
                  kernel_spatial, stride, padding, in_c, out_c);
}
