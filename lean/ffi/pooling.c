/* Lean symbols: maximum, average and smooth maximum of windows, and gradients. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_maxpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  static const char operation[] = "maxpool_fwd";
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, operation, in_spatial, "kernel", kernel, stride, padding);
  tl_buffer *out = NULL;
  tl_lean_must(tl_maxpool_fwd(x, tl_lean_list(&windows.in), tl_lean_list(&windows.kernel),
                              tl_lean_list(&windows.stride), tl_lean_list(&windows.padding),
                              channels, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad,
                                        b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                                        b_lean_obj_arg stride, b_lean_obj_arg padding,
                                        uint32_t channels) {
  static const char operation[] = "maxpool_bwd";
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "grad", grad);
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, operation, in_spatial, "kernel", kernel, stride, padding);
  tl_buffer *out = NULL;
  tl_lean_must(tl_maxpool_bwd(x, gradient, tl_lean_list(&windows.in), tl_lean_list(&windows.kernel),
                              tl_lean_list(&windows.stride), tl_lean_list(&windows.padding),
                              channels, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_avgpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  static const char operation[] = "avgpool_fwd";
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, operation, in_spatial, "kernel", kernel, stride, padding);
  tl_buffer *out = NULL;
  tl_lean_must(tl_avgpool_fwd(x, tl_lean_list(&windows.in), tl_lean_list(&windows.kernel),
                              tl_lean_list(&windows.stride), tl_lean_list(&windows.padding),
                              channels, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_avgpool_bwd(b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  static const char operation[] = "avgpool_bwd";
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "grad", grad);
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, operation, in_spatial, "kernel", kernel, stride, padding);
  tl_buffer *out = NULL;
  tl_lean_must(tl_avgpool_bwd(gradient, tl_lean_list(&windows.in), tl_lean_list(&windows.kernel),
                              tl_lean_list(&windows.stride), tl_lean_list(&windows.padding),
                              channels, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_smooth_maxpool_fwd(b_lean_obj_arg input, double beta,
                                               b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                                               b_lean_obj_arg stride, b_lean_obj_arg padding,
                                               uint32_t channels) {
  static const char operation[] = "smooth_maxpool_fwd";
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, operation, in_spatial, "kernel", kernel, stride, padding);
  tl_buffer *out = NULL;
  tl_lean_must(tl_smooth_maxpool_fwd(x, beta, tl_lean_list(&windows.in),
                                     tl_lean_list(&windows.kernel), tl_lean_list(&windows.stride),
                                     tl_lean_list(&windows.padding), channels, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_smooth_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad,
                                               double beta, b_lean_obj_arg in_spatial,
                                               b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                               b_lean_obj_arg padding, uint32_t channels) {
  static const char operation[] = "smooth_maxpool_bwd";
  const tl_buffer *x = tl_lean_expect_buffer(operation, "input", input);
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "grad", grad);
  tl_lean_windows windows;
  tl_lean_expect_windows(&windows, operation, in_spatial, "kernel", kernel, stride, padding);
  tl_buffer *out = NULL;
  tl_lean_must(tl_smooth_maxpool_bwd(x, gradient, beta, tl_lean_list(&windows.in),
                                     tl_lean_list(&windows.kernel), tl_lean_list(&windows.stride),
                                     tl_lean_list(&windows.padding), channels, &out));
  return tl_lean_wrap(out);
}
