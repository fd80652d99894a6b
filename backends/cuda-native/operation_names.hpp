// The names of operations that share an entry, by enumerator: for messages, from the operation
// table.
#pragma once

#include <torchlean/types.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace torchlean::cuda {

// names[enumerator], for the `Count` enumerators of the entry `name_of_entry`.
template <size_t Count>
consteval std::array<const char *, Count> operation_names(std::string_view name_of_entry) {
  struct Row {
    std::string_view entry;
    tl_operation enumerator;
    const char *name;
  };
  constexpr Row rows[] = {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  {#entry, enumerator, #name},
#include <torchlean/operations.def>
#undef TL_OPERATION
  };
  std::array<const char *, Count> names{};
  for (const Row &row : rows) {
    if (row.entry == name_of_entry && row.enumerator != TL_NO_ENUMERATOR) {
      names[row.enumerator] = row.name;
    }
  }
  return names;
}

}  // namespace torchlean::cuda
