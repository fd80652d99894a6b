/* Lean symbols: convolutions, their transposes, and gradients. */
#include "object.h"
#include "symbols.h"

/* ---- A batch -----------------------------------------------------------------------------------
 */

lean_obj_res torchlean_cuda_buffer_conv_io(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                           b_lean_obj_arg bias, b_lean_obj_arg input_dims,
                                           b_lean_obj_arg kernel_dims, b_lean_obj_arg strides,
                                           b_lean_obj_arg padding_before,
                                           b_lean_obj_arg padding_after, b_lean_obj_arg dilations,
                                           uint32_t groups) {
  static const char operation[] = "conv_io";
  if (!tl_lean_is_buffer(input)) {
    return tl_lean_io_wrong_class(operation, "input", input, "a Buffer");
  }
  if (!tl_lean_is_buffer(kernel)) {
    return tl_lean_io_wrong_class(operation, "kernel", kernel, "a Buffer");
  }
  if (!tl_lean_is_buffer(bias)) return tl_lean_io_wrong_class(operation, "bias", bias, "a Buffer");
  tl_lean_dims lists[6];
  const struct {
    const char *name;
    b_lean_obj_arg array;
  } given[6] = {
      {"inputDims", input_dims},         {"kernelDims", kernel_dims},     {"strides", strides},
      {"paddingBefore", padding_before}, {"paddingAfter", padding_after}, {"dilations", dilations}};
  for (size_t i = 0; i < 6; ++i) {
    lean_object *error = tl_lean_io_dims(operation, given[i].name, given[i].array, &lists[i]);
    if (error != NULL) return error;
  }
  const tl_conv_lists all = {.struct_size = sizeof all,
                             .input_dims = tl_lean_list(&lists[0]),
                             .kernel_dims = tl_lean_list(&lists[1]),
                             .strides = tl_lean_list(&lists[2]),
                             .padding_before = tl_lean_list(&lists[3]),
                             .padding_after = tl_lean_list(&lists[4]),
                             .dilations = tl_lean_list(&lists[5])};
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(tl_conv(tl_lean_buffer(input), tl_lean_buffer(kernel),
                                   tl_lean_buffer(bias), &all, groups, &out),
                           &out);
}

/* ---- One sample --------------------------------------------------------------------------------
 */

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
                            b_lean_obj_arg kernel, b_lean_obj_arg bias,
                            const tl_lean_windows *windows, uint32_t in_c, uint32_t out_c) {
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  const tl_buffer *weights = tl_lean_expect_buffer(operation, "kernel", kernel);
  const tl_buffer *offset = tl_lean_expect_buffer(operation, "bias", bias);
  tl_buffer *out = NULL;
  tl_lean_must(convolve(x, weights, offset, tl_lean_list(&windows->in),
                        tl_lean_list(&windows->kernel), tl_lean_list(&windows->stride),
                        tl_lean_list(&windows->padding), in_c, out_c, &out));
  return tl_lean_wrap(out);
}

/* (dKernel, (dBias, dInput)). */
static lean_obj_res backward(Backward differentiate, const char *operation, b_lean_obj_arg input,
                             b_lean_obj_arg kernel, b_lean_obj_arg grad,
                             const tl_lean_windows *windows, uint32_t in_c, uint32_t out_c) {
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  const tl_buffer *weights = tl_lean_expect_buffer(operation, "kernel", kernel);
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "grad", grad);
  tl_buffer *dkernel = NULL;
  tl_buffer *dbias = NULL;
  tl_buffer *dinput = NULL;
  tl_lean_must(differentiate(x, weights, gradient, tl_lean_list(&windows->in),
                             tl_lean_list(&windows->kernel), tl_lean_list(&windows->stride),
                             tl_lean_list(&windows->padding), in_c, out_c, &dkernel, &dbias,
                             &dinput));
  lean_object *rest = tl_lean_pair(tl_lean_wrap(dbias), tl_lean_wrap(dinput));
  return tl_lean_pair(tl_lean_wrap(dkernel), rest);
}

lean_obj_res torchlean_cuda_conv_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                     b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                                     b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                     b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, "conv_fwd", in_spatial, "kernelSpatial", kernel_spatial, stride,
                         padding);
  return forward(tl_conv_fwd, "conv_fwd", input, kernel, bias, &windows, in_c, out_c);
}

lean_obj_res torchlean_cuda_conv_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                     b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                     b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                     b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, "conv_bwd", in_spatial, "kernelSpatial", kernel_spatial, stride,
                         padding);
  return backward(tl_conv_bwd, "conv_bwd", input, kernel, grad, &windows, in_c, out_c);
}

lean_obj_res torchlean_cuda_convtranspose_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                              b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                                              b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                              b_lean_obj_arg padding, uint32_t in_c,
                                              uint32_t out_c) {
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, "convtranspose_fwd", in_spatial, "kernelSpatial", kernel_spatial,
                         stride, padding);
  return forward(tl_convtranspose_fwd, "convtranspose_fwd", input, kernel, bias, &windows, in_c,
                 out_c);
}

lean_obj_res torchlean_cuda_convtranspose_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                              b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                              b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                              b_lean_obj_arg padding, uint32_t in_c,
                                              uint32_t out_c) {
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, "convtranspose_bwd", in_spatial, "kernelSpatial", kernel_spatial,
                         stride, padding);
  return backward(tl_convtranspose_bwd, "convtranspose_bwd", input, kernel, grad, &windows, in_c,
                  out_c);
}
