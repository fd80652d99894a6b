/* Lean symbols: random buffers. Element i of a result depends on key + i alone. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_rand_uniform(uint32_t n, uint64_t key, uint8_t dtype) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_rand_uniform(n, key, dtype, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_rand_uniform_io(uint32_t n, uint64_t key, uint8_t dtype) {
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(tl_rand_uniform(n, key, dtype, &out), &out);
}

lean_obj_res torchlean_cuda_buffer_rand_normal(uint32_t n, double mean, double std, uint64_t key,
                                               uint8_t dtype) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_rand_normal(n, mean, std, key, dtype, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_bernoulli_mask(uint32_t n, double keep_probability, uint64_t key,
                                                  uint8_t dtype) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_bernoulli_mask(n, keep_probability, key, dtype, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_bernoulli_mask_io(uint32_t n, double keep_probability,
                                                     uint64_t key, uint8_t dtype) {
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(tl_bernoulli_mask(n, keep_probability, key, dtype, &out), &out);
}
