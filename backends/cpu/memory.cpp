// Storages: made, filled, copied, given back.
#include "allocator.hpp"
#include "moves.hpp"

#include <bit>

tl_storage::tl_storage(tl_instance &instance, size_t size)
    : owner(instance), bytes(size), data(torchlean::cpu::Allocator::instance().alloc(size)) {
  if (data == nullptr)
    throw torchlean::Failure(TL_OUT_OF_MEMORY,
                             "no host memory left for " + std::to_string(size) + " bytes");
}

tl_storage::~tl_storage() { torchlean::cpu::Allocator::instance().free(data, bytes); }

namespace torchlean::cpu {
namespace {

void release(tl_instance *, tl_storage *storage) { delete storage; }

// The bits of an element, repeated to eight bytes.
uint64_t pattern_of(tl_dtype dtype, double value) {
  switch (dtype) {
    case TL_FLOAT32: return std::bit_cast<uint32_t>(static_cast<float>(value)) * 0x100000001U;
    case TL_FLOAT64: return std::bit_cast<uint64_t>(value);
    default:
      if (value == 0) return 0;
      throw invalid("value is not 0, the only one that an encoded buffer is filled with");
  }
}

void fill(tl_instance &instance, tl_dtype dtype, uint32_t width, uint64_t count, double value,
          tl_flags, tl_storage **out) {
  check_width(dtype, width);
  check_count(count);
  const uint64_t pattern = pattern_of(dtype, value);
  Result<std::byte> y(instance, count * width);
  fill_bytes(instance, pattern, y.begin(), count * width);
  hand_out(out, y);
}

void copy(tl_instance &instance, const tl_operand *x, tl_flags, tl_storage **out) {
  const auto bytes = bytes_of("x", x);
  Result<std::byte> y(instance, bytes.size());
  copy_bytes(instance, bytes.data(), y.begin(), bytes.size());
  hand_out(out, y);
}

}  // namespace

const tl_memory_table memory_table = {
    .struct_size = sizeof(tl_memory_table),
    .release = release,
    .fill = entry<"fill", fill>,
    .copy = entry<"copy", copy>,
};

}  // namespace torchlean::cpu
