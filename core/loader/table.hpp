// A backend's table without holes: what both sides know of it, every gap filled.
#pragma once

#include <torchlean/backend.h>

#include <string>
#include <torchlean/backend.hpp>
#include <tuple>
#include <type_traits>

namespace torchlean {

// The core's own copy of all sub-tables. Members that a backend lacks (NULL, or beyond its
// struct_size) hold a function that returns TL_UNSUPPORTED without touching its outputs, so no call
// tests for NULL.
struct FullTable {
  tl_device_table device;
  tl_memory_table memory;
  tl_transfer_table transfer;
  tl_random_table random;
  tl_elementwise_table elementwise;
  tl_optimizer_table optimizer;
  tl_reduction_table reduction;
  tl_view_table view;
  tl_indexing_table indexing;
  tl_matmul_table matmul;
  tl_normalization_table normalization;
  tl_loss_table loss;
  tl_fourier_table fourier;
  tl_scan_table scan;
  tl_convolution_table convolution;
  tl_pooling_table pooling;
};

// Its members; std::get by type finds the one of a family, since each has a table type of its own.
inline constexpr std::tuple full_table_members{
    &FullTable::device,      &FullTable::memory,    &FullTable::transfer,      &FullTable::random,
    &FullTable::elementwise, &FullTable::optimizer, &FullTable::reduction,     &FullTable::view,
    &FullTable::indexing,    &FullTable::matmul,    &FullTable::normalization, &FullTable::loss,
    &FullTable::fourier,     &FullTable::scan,      &FullTable::convolution,   &FullTable::pooling};

// The sub-table of type Table.
template <class Table>
Table &table_in(FullTable &full) {
  return full.*std::get<Table FullTable::*>(full_table_members);
}

// The function pointer that an Entry of backend.hpp names.
template <class Entry>
auto &function_in(FullTable &full, Entry) {
  using Table = std::remove_cvref_t<decltype(*(std::declval<BackendVTable>().*Entry::family))>;
  return table_in<Table>(full).*Entry::member;
}

// Why `vtable` cannot be used by this core; empty if it can. Reads no more than the sizes it
// states.
std::string reject_reason(const BackendVTable *vtable);

// For a table that reject_reason() accepts.
FullTable complete(const BackendVTable &vtable);

}  // namespace torchlean
