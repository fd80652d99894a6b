/* Lean symbols: real Fourier transforms of rows. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_rfft1d_packed(b_lean_obj_arg x, uint32_t batch, uint32_t n) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_rfft1d_packed(tl_lean_expect_buffer("rfft1d_packed", "x", x), batch, n, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_irfft1d_packed(b_lean_obj_arg spec, uint32_t batch, uint32_t n) {
  tl_buffer *out = NULL;
  tl_lean_must(
      tl_irfft1d_packed(tl_lean_expect_buffer("irfft1d_packed", "spec", spec), batch, n, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_irfft1d_packed_unnormalized(b_lean_obj_arg spec, uint32_t batch,
                                                               uint32_t n) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_irfft1d_packed_unnormalized(
      tl_lean_expect_buffer("irfft1d_packed_unnormalized", "spec", spec), batch, n, &out));
  return tl_lean_wrap(out);
}
