// Error text and the names of status codes and stages.
#include "status/error.hpp"

#include <algorithm>
#include <exception>
#include <new>

namespace torchlean {

ThreadState &thread_state() noexcept {
  thread_local ThreadState state;
  return state;
}

void set_error(std::string_view text) noexcept {
  ThreadState &state = thread_state();
  const std::size_t length = std::min(text.size(), ThreadState::text_size - 1);
  std::memmove(state.error_text, text.data(), length);
  state.error_text[length] = '\0';
  state.error_is_fresh = true;
}

const char *status_name(tl_status status) noexcept {
  switch (status) {
    case TL_OK: return "ok";
    case TL_INVALID_ARGUMENT: return "invalid argument";
    case TL_OUT_OF_MEMORY: return "out of memory";
    case TL_UNSUPPORTED: return "unsupported";
    case TL_UNAVAILABLE: return "unavailable";
    case TL_DEVICE_ERROR: return "device error";
    case TL_DEVICE_LOST: return "device lost";
    case TL_INTERNAL: return "internal error";
    default: return "unknown status";
  }
}

tl_status status_of_current_exception(const char *where) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return fail(TL_OUT_OF_MEMORY, "{}: host memory is exhausted", where);
  } catch (const std::exception &error) {
    return fail(TL_INTERNAL, "{}: {}", where, error.what());
  } catch (...) {
    return fail(TL_INTERNAL, "{}: an exception of unknown type", where);
  }
}

}  // namespace torchlean

extern "C" {

const char *tl_last_error(void) { return torchlean::thread_state().error_text; }

const char *tl_status_name(tl_status status) { return torchlean::status_name(status); }

const char *tl_stage_name(tl_stage stage) {
  static constexpr const char *names[] = {"found",      "inspected", "opened",      "entry found",
                                          "negotiated", "created",   "self-tested", "usable"};
  return stage < std::size(names) ? names[stage] : "unknown stage";
}

const char *tl_version(void) { return TORCHLEAN_VERSION; }

}  // extern "C"
