// The names of operations that share an entry, by enumerator: for messages, from the operation
// table.
#pragma once

#include "instance.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace torchlean::cuda {

// names[enumerator], for the `Count` enumerators of the entry `name_of_entry`; of this family,
// where several have one of that name.
template <size_t Count>
consteval std::array<const char *, Count> operation_names(std::string_view name_of_entry,
                                                          std::string_view name_of_family = {}) {
  struct Row {
    std::string_view family;
    std::string_view entry;
    tl_operation enumerator;
    const char *name;
  };
  constexpr Row rows[] = {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  {#family, #entry, enumerator, #name},
#include <torchlean/operations.def>
#undef TL_OPERATION
  };
  std::array<const char *, Count> names{};
  for (const Row &row : rows) {
    const bool is_named =
        row.entry == name_of_entry && (name_of_family.empty() || row.family == name_of_family);
    if (is_named && row.enumerator != TL_NO_ENUMERATOR) {
      names[row.enumerator] = row.name;
    }
  }
  return names;
}

// The operation's name; an enumerator that is not known here is TL_UNSUPPORTED.
template <size_t Count>
const char *name_of(const std::array<const char *, Count> &names, const char *entry_name,
                    uint32_t op) {
  if (op >= Count) {
    refuse_enumerator(entry_name, op);
  }
  return names[op];
}

}  // namespace torchlean::cuda
