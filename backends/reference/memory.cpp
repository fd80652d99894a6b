// Storages: made, filled, copied, given back.
#include "reference.hpp"

tl_storage::tl_storage(tl_instance &instance, size_t size)
    : owner(instance), bytes(size), data(torchlean::reference::host->alloc(size)) {
  if (data == nullptr)
    throw torchlean::Failure(TL_OUT_OF_MEMORY,
                             "no host memory left for " + std::to_string(size) + " bytes");
  const uint64_t allocated = owner.allocated_bytes += bytes;
  uint64_t peak = owner.peak_bytes;
  while (peak < allocated && !owner.peak_bytes.compare_exchange_weak(peak, allocated)) {
  }
}

tl_storage::~tl_storage() {
  owner.allocated_bytes -= bytes;
  torchlean::reference::host->free(data, bytes);
}

namespace torchlean::reference {

namespace {

void release(tl_instance *, tl_storage *storage) { delete storage; }

void fill(tl_instance &instance, tl_dtype dtype, uint32_t width, uint64_t count, double value,
          tl_flags, tl_storage **out) {
  check_width(dtype, width);
  check_count(count);
  if (dtype == TL_ENCODED) {
    if (value != 0)
      throw invalid("value is not 0, the only one that an encoded buffer is filled with");
    Result<std::byte> y(instance, count * width);
    std::fill(y.begin(), y.end(), std::byte(0));
    return hand_out(out, y);
  }
  with_native(dtype, [&]<class T>(T) {
    Result<T> y(instance, count);
    std::fill(y.begin(), y.end(), static_cast<T>(value));
    hand_out(out, y);
  });
}

void copy(tl_instance &instance, const tl_operand *x, tl_flags, tl_storage **out) {
  const auto bytes = bytes_of("x", x);
  Result<std::byte> y(instance, bytes.size());
  std::copy(bytes.begin(), bytes.end(), y.begin());
  hand_out(out, y);
}

}  // namespace

const tl_memory_table memory_table = {
    .struct_size = sizeof(tl_memory_table),
    .release = release,
    .fill = entry<"fill", fill>,
    .copy = entry<"copy", copy>,
};

}  // namespace torchlean::reference
