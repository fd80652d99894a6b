// An opened backend: one instance on one device, its completed table, what it supports.
#pragma once

#include <torchlean/backend.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <string>

#include "loader/table.hpp"

// Lives until it is closed and its last handle is freed. The sub-tables are the base, so that
// dispatch reads backend.elementwise.unary(backend.instance, ...).
struct tl_backend : torchlean::FullTable {
  std::string name;
  std::string version;
  std::string library;
  std::string path;  // of its file; "" for the null backend
  std::string asked_device;
  tl_instance *instance = nullptr;
  void (*destroy_instance)(tl_instance *) = nullptr;
  std::array<std::bitset<TL_OP_COUNT>, TL_DTYPE_COUNT> supported;
  bool is_null = false;
  std::atomic<bool> is_lost{false};  // it has answered TL_DEVICE_LOST once
  std::atomic<std::uint32_t> device_index{0};
  std::atomic<double> memory_fraction{1.0};

  // Changed under the lock of counters only.
  std::uint64_t live_handles = 0;
  std::atomic<bool> is_closed{false};

  tl_backend() = default;
  tl_backend(const tl_backend &) = delete;
  tl_backend &operator=(const tl_backend &) = delete;

  // No handle and no call is left.
  ~tl_backend() {
    if (instance != nullptr) destroy_instance(instance);
  }
};

namespace torchlean {

using Backend = ::tl_backend;

}  // namespace torchlean
