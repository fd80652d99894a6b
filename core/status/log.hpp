// Logging: one logger to stderr, silent below the level that TORCHLEAN_LOG asks for (rule P5).
#pragma once

#include <torchlean/types.h>

#include <string_view>

namespace torchlean {

// Any thread. Never throws; a line that cannot be written is lost.
void log(tl_log_level level, std::string_view text) noexcept;

void set_log_level(tl_log_level level) noexcept;

}  // namespace torchlean
