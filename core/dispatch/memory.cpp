// Memory family: zeros, full, copies.
#include "dispatch/call.hpp"

namespace torchlean {
namespace {

tl_status fill(Call &call, std::uint64_t count, tl_dtype dtype, std::uint32_t width, double value,
               tl_buffer **out) {
  return call.result(out, count, [&](Backend &backend, tl_storage **storage) {
    return backend.memory.fill(backend.instance, dtype, width, count, value, 0, storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_zeros(uint64_t count, tl_dtype dtype, tl_buffer **out) {
  Call call(TL_OP_zeros);
  call.create(dtype);
  return fill(call, count, dtype, native_width(dtype), 0.0, out);
}

tl_status tl_full(uint64_t count, double value, tl_dtype dtype, tl_buffer **out) {
  Call call(TL_OP_full);
  call.create(dtype);
  return fill(call, count, dtype, native_width(dtype), call.rounded(value), out);
}

tl_status tl_zeros_like(const tl_buffer *reference, uint64_t count, tl_buffer **out) {
  Call call(TL_OP_zeros_like);
  const tl_operand *like = call.any("reference", reference);
  if (call.failed()) return call.status();
  return fill(call, count, like->dtype, like->width, 0.0, out);
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
