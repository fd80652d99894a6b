// Process-wide settings: remembered here, told to every opened backend.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "loader/backend.hpp"

namespace torchlean {

struct Runtime;

namespace settings {

using Values = std::array<std::atomic<std::uint32_t>, TL_SETTING_COUNT>;

// The values at the start of a process.
void initialize(Values &values);

// From now on `backend` is told of changes; it learns the present values at once.
void adopt(Runtime &runtime, tl_backend &backend);

// `backend` is about to be closed.
void forget(tl_backend &backend);

// Changes one setting and tells the backends; the former value goes to *former unless that is null.
tl_status set(Runtime &runtime, tl_setting setting, bool enabled, std::uint32_t *former);

}  // namespace settings
}  // namespace torchlean
