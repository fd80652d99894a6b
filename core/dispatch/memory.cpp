// Memory family: zeros, full, copies.
#include "dispatch/call.hpp"

using namespace torchlean;

extern "C" {

tl_status tl_zeros(uint64_t count, tl_dtype dtype, tl_buffer **out) {
  Call call(TL_OP_zeros);
  call.create(dtype);
  return call.filled<1>({out}, {count}, 0.0);
}

tl_status tl_full(uint64_t count, double value, tl_dtype dtype, tl_buffer **out) {
  Call call(TL_OP_full);
  call.create(dtype);
  return call.filled<1>({out}, {count}, call.rounded(value));
}

tl_status tl_zeros_like(const tl_buffer *reference, uint64_t count, tl_buffer **out) {
  Call call(TL_OP_zeros_like);
  call.any("reference", reference);
  return call.filled<1>({out}, {count}, 0.0);
}

tl_status tl_copy(const tl_buffer *x, tl_buffer **out) {
  Call call(TL_OP_copy);
  const tl_operand *operand = call.any("x", x);
  if (call.failed()) return call.status();
  return call.result(out, operand->count, [&](Backend &backend, tl_storage **storage) {
    return backend.memory.copy(backend.instance, operand, 0, storage);
  });
}

tl_status tl_duplicate(const tl_buffer *x, tl_buffer **out_first, tl_buffer **out_second) {
  Call call(TL_OP_duplicate);
  const tl_operand *operand = call.any("x", x);
  if (call.failed()) return call.status();
  return call.results<2>({out_first, out_second}, {operand->count, operand->count},
                         [&](Backend &backend, tl_storage **storages) {
                           tl_status status =
                               backend.memory.copy(backend.instance, operand, 0, &storages[0]);
                           if (status != TL_OK) return status;
                           status = backend.memory.copy(backend.instance, operand, 0, &storages[1]);
                           if (status != TL_OK)
                             backend.memory.release(backend.instance, storages[0]);
                           return status;
                         });
}

}  // extern "C"
