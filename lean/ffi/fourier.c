/* Lean symbols: real Fourier transforms of rows. */
#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_rfft1d_packed(b_lean_obj_arg x, uint32_t batch, uint32_t n) {
  return tl_lean_map_2d(tl_rfft1d_packed, "rfft1d_packed", "x", x, batch, n);
}

lean_obj_res torchlean_cuda_buffer_irfft1d_packed(b_lean_obj_arg spec, uint32_t batch, uint32_t n) {
  return tl_lean_map_2d(tl_irfft1d_packed, "irfft1d_packed", "spec", spec, batch, n);
}

lean_obj_res torchlean_cuda_buffer_irfft1d_packed_unnormalized(b_lean_obj_arg spec, uint32_t batch,
                                                               uint32_t n) {
  return tl_lean_map_2d(tl_irfft1d_packed_unnormalized, "irfft1d_packed_unnormalized", "spec", spec,
                        batch, n);
}
