// Storages: made, filled, copied, given back.
#include "composed.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {
namespace {

// Handing the tensor back to ATen frees its block, unless a call under way still has it.
void release(tl_instance *, tl_storage *storage) { delete storage; }

void fill(tl_instance &instance, tl_dtype dtype, uint32_t width, uint64_t count, double value,
          tl_flags, tl_storage **out) {
  check_width(dtype, width);
  const int64_t n = extent("count", count);
  if (instance.composed)
    return hand_out(out, composed::fill(instance.device(), dtype, width, n, value));
  if (dtype == TL_ENCODED) {
    at::Tensor result = empty(n * width, at::kByte);
    auto *const bytes = result.mutable_data_ptr<uint8_t>();
    each(n * width, [=](int64_t i) { bytes[i] = 0; });
    return hand_out(out, result);
  }
  with_native(dtype, [&]<class T>(T) {
    at::Tensor result = empty(n, scalar_type<T>);
    T *const y = result.mutable_data_ptr<T>();
    const T filling = static_cast<T>(value);
    each(n, [=](int64_t i) { y[i] = filling; });
    hand_out(out, result);
  });
}

void copy(tl_instance &, const tl_operand *x, tl_flags, tl_storage **out) {
  hand_out(out, tensor_of("x", x).clone());
}

}  // namespace

const tl_memory_table memory_table = {
    .struct_size = sizeof(tl_memory_table),
    .release = release,
    .fill = entry<"fill", fill>,
    .copy = entry<"copy", copy>,
};

}  // namespace torchlean::libtorch
