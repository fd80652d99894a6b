// Logging through spdlog, with a logger of our own outside spdlog's registry.
#include "status/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace torchlean {
namespace {

// Never destroyed: threads may log until the very end of the process.
spdlog::logger &logger() {
  static auto *instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto *made = new spdlog::logger("torchlean", std::move(sink));
    made->set_pattern("%n: %l: %v");
    made->set_level(spdlog::level::warn);
    made->set_error_handler([](const std::string &) {});
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(tl_log_level level) {
  switch (level) {
    case TL_LOG_DEBUG: return spdlog::level::debug;
    case TL_LOG_INFO: return spdlog::level::info;
    case TL_LOG_WARN: return spdlog::level::warn;
    case TL_LOG_ERROR: return spdlog::level::err;
    default: return spdlog::level::off;
  }
}

}  // namespace

void log(tl_log_level level, std::string_view text) noexcept {
  try {
    logger().log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {
    // A diagnostic must never become a failure.
  }
}

void set_log_level(tl_log_level level) noexcept {
  try {
    logger().set_level(spdlog_level(level));
  } catch (...) {
    // Only creating the logger can fail; the level then stays at its default.
  }
}

}  // namespace torchlean
