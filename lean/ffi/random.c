/* Lean symbols: random buffers. Element i of a result depends on key + i alone. */
#include "call.h"
#include "symbols.h"

static lean_obj_res uniform(tl_lean_call call, uint32_t n, uint64_t key, uint8_t dtype) {
  call.status = tl_rand_uniform(n, key, dtype, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_rand_uniform(uint32_t n, uint64_t key, uint8_t dtype) {
  return uniform(tl_lean_pure("rand_uniform"), n, key, dtype);
}

lean_obj_res torchlean_cuda_buffer_rand_uniform_io(uint32_t n, uint64_t key, uint8_t dtype) {
  return uniform(tl_lean_io("rand_uniform_io"), n, key, dtype);
}

lean_obj_res torchlean_cuda_buffer_rand_normal(uint32_t n, double mean, double std, uint64_t key,
                                               uint8_t dtype) {
  tl_lean_call call = tl_lean_pure("rand_normal");
  call.status = tl_rand_normal(n, mean, std, key, dtype, &call.out[0]);
  return tl_lean_end(&call, 1);
}

static lean_obj_res bernoulli(tl_lean_call call, uint32_t n, double keep_probability, uint64_t key,
                              uint8_t dtype) {
  call.status = tl_bernoulli_mask(n, keep_probability, key, dtype, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_bernoulli_mask(uint32_t n, double keep_prob, uint64_t key,
                                                  uint8_t dtype) {
  return bernoulli(tl_lean_pure("bernoulli_mask"), n, keep_prob, key, dtype);
}

lean_obj_res torchlean_cuda_buffer_bernoulli_mask_io(uint32_t n, double keep_prob, uint64_t key,
                                                     uint8_t dtype) {
  return bernoulli(tl_lean_io("bernoulli_mask_io"), n, keep_prob, key, dtype);
}
