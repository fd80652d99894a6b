// Moves of whole elements: so far those that are plain copies.
#include "instance.hpp"

namespace torchlean::cuda {

namespace {

void concat(tl_instance *instance, const tl_operand *a, const tl_operand *b, tl_flags,
            tl_storage **out) {
  check_operand("concat1d", "a", *a, a->dtype, a->count);
  check_operand("concat1d", "b", *b, a->dtype, b->count);
  if (a->width != b->width) {
    throw Failure(TL_INVALID_ARGUMENT, "concat1d: b has words of " + std::to_string(b->width) +
                                           " bytes, expected " + std::to_string(a->width));
  }
  Result result(*instance, "concat1d", a->count + b->count, a->width);
  std::byte *to = result.elements<std::byte>();
  for (const tl_operand *part : {a, b}) {
    if (part->count > 0) {
      device::copy_on_device(*instance->stream, "concat1d", to, elements<void>(*part),
                             part->storage->bytes);
      to += part->storage->bytes;
    }
  }
  *out = result.hand_over();
}

void slice(tl_instance *instance, const tl_operand *x, uint64_t start, uint64_t length, tl_flags,
           tl_storage **out) {
  check_operand("slice1d", "x", *x, x->dtype, x->count);
  if (length > x->count || start > x->count - length) {
    throw Failure(TL_INVALID_ARGUMENT, "slice1d: " + std::to_string(length) + " elements from " +
                                           std::to_string(start) + ", but x has " +
                                           std::to_string(x->count));
  }
  Result result(*instance, "slice1d", length, x->width);
  device::copy_on_device(*instance->stream, "slice1d", result.elements<void>(),
                         elements<std::byte>(*x) + start * x->width, length * x->width);
  *out = result.hand_over();
}

}  // namespace

const tl_view_table view_table = {
    .struct_size = sizeof(tl_view_table),
    .concat = entry<concat>,
    .slice = entry<slice>,
    .broadcast = nullptr,
    .swap = nullptr,
};

}  // namespace torchlean::cuda
