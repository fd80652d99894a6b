// What the families of the reference backend share: instance, tables, entries.
//
// A kernel is a function `void kernel(tl_instance &, arguments of the entry...)`. It throws Failure
// to end with a status; results that are not handed out yet are freed on the way.
#pragma once

#include <torchlean/host_backend.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

struct tl_instance {
  std::atomic<bool> deterministic{false};
  std::atomic<uint64_t> allocated_bytes{0};
  std::atomic<uint64_t> peak_bytes{0};
};

namespace torchlean::reference {

// The services of the process; set by the entry point before anything else runs.
extern const tl_host *host;

extern const tl_device_table device_table;
extern const tl_memory_table memory_table;
extern const tl_transfer_table transfer_table;
extern const tl_random_table random_table;
extern const tl_elementwise_table elementwise_table;
extern const tl_optimizer_table optimizer_table;
extern const tl_reduction_table reduction_table;
extern const tl_view_table view_table;
extern const tl_indexing_table indexing_table;
extern const tl_matmul_table matmul_table;
extern const tl_normalization_table normalization_table;
extern const tl_loss_table loss_table;
extern const tl_fourier_table fourier_table;
extern const tl_scan_table scan_table;
extern const tl_convolution_table convolution_table;
extern const tl_pooling_table pooling_table;

// ---- Entries ------------------------------------------------------------------------------------

// What lives as long as a call: nothing.
struct Scope {
  explicit Scope(const tl_instance &) {}
};

inline tl_status status_of(const char *entry) noexcept {
  return status_of_current_exception(*host, entry);
}

// The function of a family's table that runs Kernel.
template <EntryName name, auto Kernel>
inline constexpr auto entry = kernel_entry<name, Kernel, Scope, &status_of>;

}  // namespace torchlean::reference
