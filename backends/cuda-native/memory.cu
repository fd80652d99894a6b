// Storages: released, filled, copied.
#include "instance.hpp"
#include "words.cuh"

namespace torchlean::cuda {

namespace {

template <class T>
__global__ void fill_kernel(uint64_t items, uint64_t n, T *out, T value) {
  for_words<widest_word<T>>(items, n, [&]<size_t width>(uint64_t i) {
    Word<T, width> word;
    for (T &element : word.element) {
      element = value;
    }
    store_word(out, i, word);
  });
}

void fill(tl_instance *instance, tl_dtype dtype, uint32_t width, uint64_t count, double value,
          tl_flags, tl_storage **out) {
  check_width("fill", dtype, width);
  Result result(*instance, "fill", count, width);
  if (dtype == TL_ENCODED) {
    device::clear(*instance->stream, "fill", result.elements<void>(), count * width);
  } else {
    with_native("fill", dtype, [&]<class T>() {
      launch_words<widest_word<T>>(*instance->stream, "fill", count, &fill_kernel<T>,
                                   result.elements<T>(), static_cast<T>(value));
    });
  }
  *out = result.hand_over();
}

void copy(tl_instance *instance, const tl_operand *x, tl_flags, tl_storage **out) {
  check_operand("copy", "x", *x, x->dtype, x->count);
  Result result(*instance, "copy", x->count, x->width);
  device::copy_on_device(*instance->stream, "copy", result.elements<void>(), elements<void>(*x),
                         x->storage->bytes);
  *out = result.hand_over();
}

}  // namespace

const tl_memory_table memory_table = {
    .struct_size = sizeof(tl_memory_table),
    .release = release,
    .fill = entry<fill>,
    .copy = entry<copy>,
};

}  // namespace torchlean::cuda
