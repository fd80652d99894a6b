// A backend's tables of any size: never more is read than they state, and no hole is left (L8).
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "loader/table.hpp"

using namespace torchlean;

namespace {

// Blocks just as large as they are said to be; the address sanitizer guards their ends.
std::vector<std::unique_ptr<std::byte[]>> blocks;

// A size, often near that of a real table.
std::size_t any_size(FuzzedDataProvider &data, std::size_t real) {
  switch (data.ConsumeIntegralInRange(0, 3)) {
    case 0: return data.ConsumeIntegral<std::size_t>();
    case 1: return real;
    default: return 8 * data.ConsumeIntegralInRange<std::size_t>(0, 2 * real / 8);
  }
}

// A table that states a size; its words are `word` or NULL.
template <class Table>
Table *make_table(FuzzedDataProvider &data, std::uintptr_t word) {
  const std::size_t stated = any_size(data, sizeof(Table));
  const std::size_t length = std::clamp<std::size_t>(stated, sizeof(std::size_t), 1U << 17U);
  blocks.push_back(std::make_unique<std::byte[]>(length));
  std::byte *block = blocks.back().get();
  const bool is_full = data.ConsumeBool();
  for (std::size_t at = 8; at + 8 <= length && at < sizeof(Table); at += 8) {
    if (is_full || data.ConsumeBool()) std::memcpy(block + at, &word, sizeof word);
  }
  std::memcpy(block, &stated, sizeof stated);
  return reinterpret_cast<Table *>(block);
}

tl_status some_entry() { return TL_OK; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  blocks.clear();
  const auto entry = reinterpret_cast<std::uintptr_t>(&some_entry);
  BackendVTable head = {};
  head.magic = data.ConsumeBool() ? TL_BACKEND_MAGIC : data.ConsumeIntegral<std::uint32_t>();
  head.abi_version = data.ConsumeBool() ? TL_ABI_VERSION : data.ConsumeIntegral<std::uint32_t>();
  head.name = head.version = head.library = "x";
  head.create = [](const tl_create_options *, tl_instance **) -> tl_status { return TL_OK; };
  head.destroy = [](tl_instance *) {};
  head.supports = [](tl_instance *, tl_operation, tl_dtype) -> tl_status { return TL_OK; };
  head.device = make_table<tl_device_table>(data, entry);
  head.memory = make_table<tl_memory_table>(data, entry);
  if (data.ConsumeBool()) head.transfer = make_table<tl_transfer_table>(data, entry);
  if (data.ConsumeBool()) head.elementwise = make_table<tl_elementwise_table>(data, entry);
  if (data.ConsumeBool()) head.reduction = make_table<tl_reduction_table>(data, entry);
  if (data.ConsumeBool()) head.pooling = make_table<tl_pooling_table>(data, entry);

  // The vtable itself, in a block as large as it states; what does not fit is cut off. Its head up
  // to the families is always there: a smaller one could not be told from another structure.
  head.struct_size = any_size(data, sizeof head);
  const std::size_t length =
      std::clamp<std::size_t>(head.struct_size, offsetof(BackendVTable, transfer), 1U << 17U);
  const auto block = std::make_unique<std::byte[]>(length);
  std::memcpy(block.get(), &head, std::min(length, sizeof head));
  const auto *vtable = reinterpret_cast<const BackendVTable *>(block.get());
  if (!reject_reason(vtable).empty()) return 0;
  FullTable full = complete(*vtable);
  for_each_entry([&](auto one) {
    if (function_in(full, one) == nullptr) std::abort();
  });
  return 0;
}
