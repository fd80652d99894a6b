// The trace layer: entry, arguments, how it ended, time taken.
#include "layers/trace.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "layers/describe.hpp"
#include "layers/layer.hpp"
#include "status/error.hpp"
#include "status/log.hpp"

namespace torchlean {
namespace {

struct TraceHook {
  template <class Forward, class... Values>
  static auto call(const char *family, const char *entry, const Forward &forward,
                   const Values &...arguments) {
    std::string line;
    try {
      line = fmt::format("{}.{}{}", family, entry, Arguments(arguments...).words());
    } catch (...) {
      line.clear();  // tracing must not change how a call ends
    }
    const auto start = std::chrono::steady_clock::now();
    const auto finish = [&](const char *outcome) {
      const double microseconds =
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
              .count();
      try {
        log(TL_LOG_INFO, fmt::format("trace: {}: {} ({:.1f} us)", line, outcome, microseconds));
      } catch (...) {
      }
    };
    if constexpr (std::is_void_v<decltype(forward())>) {
      forward();
      finish("done");
    } else {
      const tl_status status = forward();
      finish(status_name(status));
      return status;
    }
  }
};

}  // namespace

LayeredInstance add_trace_layer(const LayeredInstance &inner) {
  return add_layer<TraceHook>(inner);
}

}  // namespace torchlean
