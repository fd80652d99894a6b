// Random family: counter-based uniform, normal and Bernoulli numbers.
#include "dispatch/call.hpp"

namespace torchlean {
namespace {

tl_status generate(tl_operation operation, tl_random_op op, std::uint64_t count, std::uint64_t key,
                   tl_dtype dtype, double first, double second, tl_buffer **out) {
  Call call(operation);
  call.create(dtype);
  const tl_scalars scalars = call.scalars(first, second);
  return call.result(out, count, [&](Backend &backend, tl_storage **storage) {
    return backend.random.generate(backend.instance, op, dtype, count, key, &scalars, 0, storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_rand_uniform(uint64_t count, uint64_t key, tl_dtype dtype, tl_buffer **out) {
  return generate(TL_OP_rand_uniform, TL_RANDOM_UNIFORM, count, key, dtype, 0.0, 0.0, out);
}

tl_status tl_rand_normal(uint64_t count, double mean, double std, uint64_t key, tl_dtype dtype,
                         tl_buffer **out) {
  return generate(TL_OP_rand_normal, TL_RANDOM_NORMAL, count, key, dtype, mean, std, out);
}

tl_status tl_bernoulli_mask(uint64_t count, double keep_probability, uint64_t key, tl_dtype dtype,
                            tl_buffer **out) {
  return generate(TL_OP_bernoulli_mask, TL_RANDOM_BERNOULLI, count, key, dtype, keep_probability,
                  0.0, out);
}

}  // extern "C"
