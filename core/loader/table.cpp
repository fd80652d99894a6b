// Negotiation: checking a backend's table and completing it.
#include "loader/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace torchlean {
namespace {

// Calls visit(pointer to the family's member in BackendVTable) for each family.
template <class Visitor>
void for_each_family(Visitor &&visit) {
  visit(&BackendVTable::device);
  visit(&BackendVTable::memory);
  visit(&BackendVTable::transfer);
  visit(&BackendVTable::random);
  visit(&BackendVTable::elementwise);
  visit(&BackendVTable::optimizer);
  visit(&BackendVTable::reduction);
  visit(&BackendVTable::view);
  visit(&BackendVTable::indexing);
  visit(&BackendVTable::matmul);
  visit(&BackendVTable::normalization);
  visit(&BackendVTable::loss);
  visit(&BackendVTable::fourier);
  visit(&BackendVTable::scan);
  visit(&BackendVTable::convolution);
  visit(&BackendVTable::pooling);
}

// A FullTable is nothing but one struct_size and the entries of each family: so for_each_entry,
// which counts the same words, lists every entry.
constexpr std::size_t listed_words() {
  std::size_t words = std::tuple_size_v<decltype(full_table_members)>;  // the struct_size members
  for_each_entry([&](auto) { ++words; });
  return words;
}
static_assert(listed_words() * sizeof(void *) == sizeof(FullTable),
              "backend.hpp's for_each_entry must list every entry of backend.h");

// What stands where a backend has nothing.
template <class Function>
struct Hole;

template <class... Arguments>
struct Hole<tl_status (*)(Arguments...)> {
  static tl_status call(Arguments...) { return TL_UNSUPPORTED; }
};

template <class... Arguments>
struct Hole<void (*)(Arguments...)> {
  static void call(Arguments...) {}
};

// Larger than any table of ours will be; a size beyond it is taken for garbage.
constexpr std::size_t largest_table = 1U << 16U;

constexpr std::size_t smallest_head = offsetof(BackendVTable, transfer);

bool is_table_size(std::size_t size) {
  return size >= 2 * sizeof(void *) && size <= largest_table && size % sizeof(void *) == 0;
}

template <class Struct>
Struct known_prefix(const Struct &theirs, std::size_t size) {
  Struct ours = {};
  std::memcpy(static_cast<void *>(&ours), &theirs, std::min(size, sizeof ours));
  ours.struct_size = sizeof ours;
  return ours;
}

}  // namespace

std::string reject_reason(const BackendVTable *vtable) {
  // The magic number comes first: with it wrong, no other member means anything.
  if (vtable->magic != TL_BACKEND_MAGIC) {
    return fmt::format("its table has the magic number {:#x} instead of {:#x}", vtable->magic,
                       TL_BACKEND_MAGIC);
  }
  if (vtable->abi_version != TL_ABI_VERSION) {
    return fmt::format("it implements backend ABI {}, this core knows ABI {}; rebuild one of them",
                       vtable->abi_version, TL_ABI_VERSION);
  }
  if (!is_table_size(vtable->struct_size) || vtable->struct_size < smallest_head) {
    return fmt::format("its table states a size of {} bytes; expected {} or more",
                       vtable->struct_size, smallest_head);
  }
  if (vtable->name == nullptr || vtable->version == nullptr || vtable->library == nullptr) {
    return "its table lacks the backend's name, version or library";
  }
  if (vtable->create == nullptr || vtable->destroy == nullptr || vtable->supports == nullptr) {
    return "its table lacks create, destroy or supports";
  }
  if (vtable->device == nullptr || vtable->memory == nullptr) {
    return "its table lacks the device or the memory family";
  }
  const BackendVTable head = known_prefix(*vtable, vtable->struct_size);
  std::string reason;
  for_each_family([&](auto member) {
    const auto *family = head.*member;
    if (family != nullptr && !is_table_size(family->struct_size)) {
      reason = fmt::format("one of its sub-tables states a size of {} bytes", family->struct_size);
    }
  });
  if (!reason.empty()) return reason;
  const FullTable full = complete(*vtable);
  if (full.memory.release == &Hole<decltype(full.memory.release)>::call ||
      full.device.count == &Hole<decltype(full.device.count)>::call ||
      full.device.synchronize == &Hole<decltype(full.device.synchronize)>::call) {
    return "its table lacks memory.release, device.count or device.synchronize";
  }
  return {};
}

FullTable complete(const BackendVTable &vtable) {
  const BackendVTable head = known_prefix(vtable, vtable.struct_size);
  FullTable full = {};
  for_each_family([&](auto member) {
    using Table = std::remove_cvref_t<decltype(*(head.*member))>;
    auto &ours = table_in<Table>(full);
    ours.struct_size = sizeof ours;
    if (const Table *theirs = head.*member) ours = known_prefix(*theirs, theirs->struct_size);
  });
  for_each_entry([&](auto entry) {
    auto &function = function_in(full, entry);
    if (function == nullptr) function = &Hole<std::remove_cvref_t<decltype(function)>>::call;
  });
  return full;
}

}  // namespace torchlean
