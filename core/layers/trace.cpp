// The trace layer: entry, arguments, how it ended, time taken.
#include "layers/trace.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "layers/layer.hpp"
#include "status/error.hpp"
#include "status/log.hpp"

namespace torchlean {
namespace {

// Operands by dtype and size, numbers as they are, anything else left out.
template <class Argument>
void describe(std::string &line, const Argument &argument) {
  if constexpr (std::is_same_v<Argument, const tl_operand *>) {
    static constexpr const char *names[] = {"f32", "f64", "encoded"};
    if (argument == nullptr) return;
    line += fmt::format(" {}[{}]", argument->dtype < TL_DTYPE_COUNT ? names[argument->dtype] : "?",
                        argument->count);
  } else if constexpr (std::is_arithmetic_v<Argument>) {
    line += fmt::format(" {}", argument);
  }
}

struct TraceHook {
  template <class Forward, class... Arguments>
  static auto call(const char *family, const char *entry, const Forward &forward,
                   const Arguments &...arguments) {
    using Clock = std::chrono::steady_clock;
    std::string line;
    try {
      line = fmt::format("{}.{}", family, entry);
      (describe(line, arguments), ...);
    } catch (...) {
      line.clear();  // tracing must not change how a call ends
    }
    const auto start = Clock::now();
    const auto finish = [&](const char *outcome) {
      const double microseconds =
          std::chrono::duration<double, std::micro>(Clock::now() - start).count();
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
