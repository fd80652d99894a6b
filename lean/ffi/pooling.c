/* Lean symbols: maximum, average and smooth maximum of windows, and gradients. */
#include "call.h"
#include "symbols.h"

/* The forward pools, and the gradient of the average, which needs no input. */
typedef tl_status (*Pool)(const tl_buffer *input, tl_list in_spatial, tl_list kernel,
                          tl_list stride, tl_list padding, uint64_t channels, tl_buffer **out);

static lean_obj_res pool(Pool function, const char *operation, const char *argument,
                         b_lean_obj_arg object, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                         b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_buffer(&call, argument, object);
  tl_lean_windows w;
  tl_lean_take_windows(&call, in_spatial, "kernel", kernel, stride, padding, &w);
  if (tl_lean_ok(&call)) {
    call.status = function(x, w.in, w.kernel, w.stride, w.padding, channels, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_maxpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  return pool(tl_maxpool_fwd, "maxpool_fwd", "input", input, in_spatial, kernel, stride, padding,
              channels);
}

lean_obj_res torchlean_cuda_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad,
                                        b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                                        b_lean_obj_arg stride, b_lean_obj_arg padding,
                                        uint32_t channels) {
  tl_lean_call call = tl_lean_pure("maxpool_bwd");
  const tl_buffer *x = tl_lean_take_buffer(&call, "input", input);
  const tl_buffer *gradient = tl_lean_take_buffer(&call, "grad", grad);
  tl_lean_windows w;
  tl_lean_take_windows(&call, in_spatial, "kernel", kernel, stride, padding, &w);
  if (tl_lean_ok(&call)) {
    call.status =
        tl_maxpool_bwd(x, gradient, w.in, w.kernel, w.stride, w.padding, channels, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_avgpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  return pool(tl_avgpool_fwd, "avgpool_fwd", "input", input, in_spatial, kernel, stride, padding,
              channels);
}

lean_obj_res torchlean_cuda_avgpool_bwd(b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  return pool(tl_avgpool_bwd, "avgpool_bwd", "grad", grad, in_spatial, kernel, stride, padding,
              channels);
}

lean_obj_res torchlean_cuda_smooth_maxpool_fwd(b_lean_obj_arg input, double beta,
                                               b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                                               b_lean_obj_arg stride, b_lean_obj_arg padding,
                                               uint32_t channels) {
  tl_lean_call call = tl_lean_pure("smooth_maxpool_fwd");
  const tl_buffer *x = tl_lean_take_buffer(&call, "input", input);
  tl_lean_windows w;
  tl_lean_take_windows(&call, in_spatial, "kernel", kernel, stride, padding, &w);
  if (tl_lean_ok(&call)) {
    call.status =
        tl_smooth_maxpool_fwd(x, beta, w.in, w.kernel, w.stride, w.padding, channels, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_smooth_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad,
                                               double beta, b_lean_obj_arg in_spatial,
                                               b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                               b_lean_obj_arg padding, uint32_t channels) {
  tl_lean_call call = tl_lean_pure("smooth_maxpool_bwd");
  const tl_buffer *x = tl_lean_take_buffer(&call, "input", input);
  const tl_buffer *gradient = tl_lean_take_buffer(&call, "grad", grad);
  tl_lean_windows w;
  tl_lean_take_windows(&call, in_spatial, "kernel", kernel, stride, padding, &w);
  if (tl_lean_ok(&call)) {
    call.status = tl_smooth_maxpool_bwd(x, gradient, beta, w.in, w.kernel, w.stride, w.padding,
                                        channels, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}
