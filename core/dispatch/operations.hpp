// The operation table (operations.def) as data.
#pragma once

#include <torchlean/types.h>

#include <array>
#include <string_view>

namespace torchlean {

struct OperationRow {
  const char *name;
  const char *family;
  const char *entry;
  std::uint32_t enumerator;
  const char *accuracy;
  const char *state;
  const char *runtime;
  const char *lean;
};

inline constexpr OperationRow operation_rows[] = {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  {#name, #family, #entry, enumerator, #accuracy, #state, #runtime, lean},
#include <torchlean/operations.def>
#undef TL_OPERATION
};

constexpr const char *operation_name(tl_operation operation) {
  return operation < TL_OP_COUNT ? operation_rows[operation].name : "unknown operation";
}

// The operation of each enumerator of one entry.
template <std::size_t N>
constexpr std::array<tl_operation, N> operations_of(std::string_view family,
                                                    std::string_view entry) {
  std::array<tl_operation, N> operations = {};
  for (tl_operation operation = 0; operation < TL_OP_COUNT; ++operation) {
    const OperationRow &row = operation_rows[operation];
    if (family == row.family && entry == row.entry && row.enumerator < N) {
      operations[row.enumerator] = operation;
    }
  }
  return operations;
}

}  // namespace torchlean
