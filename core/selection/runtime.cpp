// Starting, stopping, and the life of opened backends.
#include "selection/runtime.hpp"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "buffers/counters.hpp"
#include "buffers/gate.hpp"
#include "buffers/memory_report.hpp"
#include "loader/attempts.hpp"
#include "loader/candidates.hpp"
#include "loader/open.hpp"
#include "selection/settings.hpp"
#include "selection/variables.hpp"
#include "status/error.hpp"
#include "status/log.hpp"
#include "status/structs.hpp"

namespace torchlean {
namespace {

std::atomic<Runtime *> running{nullptr};
std::mutex start_mutex;

void close_gate() { gate().close(); }

// Exit handlers run in reverse order: registered after a library was opened, ours runs before that
// library's own teardown. Hence once more after each first opening of a file on a device, which may
// bring libraries along; closing twice is harmless.
void close_gate_at_exit(const tl_backend &opened) {
  static std::mutex mutex;
  static auto *seen = new std::set<std::pair<std::string, std::string>>;
  const std::lock_guard guard(mutex);
  if (!seen->emplace(opened.path, opened.asked_device).second) return;
  std::atexit(close_gate);
  std::at_quick_exit(close_gate);
}

tl_log_level log_level(std::string_view name) {
  if (name == "debug") return TL_LOG_DEBUG;
  if (name == "info") return TL_LOG_INFO;
  if (name == "error") return TL_LOG_ERROR;
  if (name == "off") return TL_LOG_OFF;
  return TL_LOG_WARN;
}

Runtime *make_runtime() {
  pthread_atfork(nullptr, nullptr, [] { gate().mark_forked(); });
  set_log_level(log_level(option("TORCHLEAN_LOG")));
  for (const std::string &sentence : misspelt_variables()) log(TL_LOG_WARN, sentence);
  if (!ignored_variables().empty()) {
    log(TL_LOG_WARN, "ignored in a process with raised privileges: " + ignored_variables());
  }
  auto *runtime = new Runtime;
  settings::initialize(runtime->settings);
  runtime->is_synchronous = option("TORCHLEAN_SYNCHRONOUS") == "1";
  if (option("TORCHLEAN_MEMORY_REPORT") == "1") memory_report::start();
  return runtime;
}

}  // namespace

const Choice &Runtime::choice() {
  if (const Choice *made = choice_.load(std::memory_order_acquire)) return *made;
  const std::lock_guard guard(choosing_);
  if (const Choice *made = choice_.load(std::memory_order_relaxed)) return *made;
  const auto *made = new Choice(choose_backend());
  close_gate_at_exit(*made->backend);
  settings::adopt(*this, *made->backend);
  if (made->is_slow && option("TORCHLEAN_BACKEND") == "auto") {
    log(TL_LOG_WARN,
        "the " + made->backend->name + " backend serves: it is made for checking results and slow");
  }
  choice_.store(made, std::memory_order_release);
  return *made;
}

Runtime *started_runtime(const char *operation) noexcept {
  if (Runtime *runtime = running.load(std::memory_order_acquire)) return runtime;
  if (!gate().is_open()) {
    gate().refusal(operation);
    return nullptr;
  }
  try {
    const std::lock_guard guard(start_mutex);
    if (running.load(std::memory_order_relaxed) == nullptr) {
      running.store(make_runtime(), std::memory_order_release);
    }
  } catch (...) {
    status_of_current_exception(operation);
    return nullptr;
  }
  return running.load(std::memory_order_acquire);
}

tl_backend *serving_backend(const char *operation) noexcept {
  Runtime *runtime = started_runtime(operation);
  if (runtime == nullptr) return nullptr;
  try {
    return runtime->choice().backend;
  } catch (...) {
    status_of_current_exception(operation);
    return nullptr;
  }
}

tl_backend *current_backend(const char *operation) noexcept {
  if (tl_backend *chosen = thread_state().backend) return chosen;
  return serving_backend(operation);
}

bool is_synchronous() noexcept {
  const Runtime *runtime = running.load(std::memory_order_relaxed);
  return runtime != nullptr && runtime->is_synchronous;
}

}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_start(void) {
  if (serving_backend("start") == nullptr) return TL_UNAVAILABLE;
  return gate().is_open() ? TL_OK : gate().refusal("start");
}

void tl_shutdown(void) { gate().close(); }

tl_runtime_state tl_runtime_status(void) {
  const GateEntry inside;
  tl_backend *serving = inside ? serving_backend("runtime_status") : nullptr;
  if (serving == nullptr || serving->is_null) return TL_NOT_LINKED;
  tl_backend &backend = *serving;
  std::uint32_t devices = 0;
  const bool usable = !backend.is_lost.load(std::memory_order_relaxed) &&
                      backend.device.count(backend.instance, &devices) == TL_OK && devices > 0;
  return usable ? TL_NATIVE_AVAILABLE : TL_NATIVE_UNAVAILABLE;
}

tl_status tl_backend_open(const char *name_or_path, const char *device, tl_backend **out) {
  if (name_or_path == nullptr || *name_or_path == '\0' || out == nullptr) {
    return fail(TL_INVALID_ARGUMENT, "backend_open: {}",
                out == nullptr ? "out is NULL" : "expected a backend's name or an absolute path");
  }
  const GateEntry inside;
  if (!inside) return gate().refusal("backend_open");
  return guard("backend_open", [&]() -> tl_status {
    Runtime *runtime = started_runtime("backend_open");
    if (runtime == nullptr) return TL_UNAVAILABLE;
    std::string reason;
    tl_backend *backend = open_by_name(name_or_path, device == nullptr ? "" : device, reason);
    if (backend == nullptr) return fail(TL_UNAVAILABLE, "backend_open: {}", reason);
    close_gate_at_exit(*backend);
    settings::adopt(*runtime, *backend);
    *out = backend;
    return TL_OK;
  });
}

void tl_backend_close(tl_backend *backend) {
  if (backend == nullptr) return;
  const GateEntry inside;
  if (!inside) return;
  settings::forget(*backend);
  if (thread_state().backend == backend) thread_state().backend = nullptr;
  if (counters::close(*backend)) delete backend;
}

tl_backend *tl_set_thread_backend(tl_backend *backend) {
  ThreadState &thread = thread_state();
  return std::exchange(thread.backend, backend);
}

tl_status tl_get_runtime_info(tl_runtime_info *out) {
  return guard("runtime_info", [&]() -> tl_status {
    Runtime *runtime = started_runtime("runtime_info");
    if (runtime == nullptr) return TL_UNAVAILABLE;
    const Choice &choice = runtime->choice();
    const BindingReport binding = binding_report();
    return write_struct(
        "runtime_info", out,
        {.struct_size = 0,
         .state = tl_runtime_status(),
         .is_slow = choice.is_slow ? 1U : 0U,
         .asked = variable("TORCHLEAN_BACKEND").is_set ? option("TORCHLEAN_BACKEND").c_str() : "",
         .reason = choice.reason.c_str(),
         .binding = binding.mode,
         .binding_reason = intern(binding.reason),
         .core_path = intern(core_path().string()),
         .ignored = ignored_variables().c_str()});
  });
}

}  // extern "C"
