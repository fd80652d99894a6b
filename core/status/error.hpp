// Error text: one message per thread, set together with a failing status.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "status/thread_state.hpp"

namespace torchlean {

// Copies `text`, cut to what fits.
void set_error(std::string_view text) noexcept;

// Formats a message into the thread's text without allocating, and returns `status`.
template <class... Arguments>
tl_status fail(tl_status status, fmt::format_string<Arguments...> format,
               Arguments &&...arguments) noexcept {
  char text[ThreadState::text_size];  // the arguments may point into the old text
  std::size_t length = 0;
  try {
    length =
        fmt::format_to_n(text, sizeof text, format, std::forward<Arguments>(arguments)...).size;
  } catch (...) {
    length = 0;
  }
  set_error({text, length < sizeof text ? length : sizeof text});
  return status;
}

// Puts the thread's text back that it found: for calls into a backend whose failure is no news.
class KeepErrorText {
 public:
  KeepErrorText() noexcept : fresh_(thread_state().error_is_fresh) {
    std::memcpy(text_, thread_state().error_text, sizeof text_);
  }
  ~KeepErrorText() {
    std::memcpy(thread_state().error_text, text_, sizeof text_);
    thread_state().error_is_fresh = fresh_;
  }
  KeepErrorText(const KeepErrorText &) = delete;
  KeepErrorText &operator=(const KeepErrorText &) = delete;

 private:
  bool fresh_;
  char text_[ThreadState::text_size];
};

// "device error" ...
const char *status_name(tl_status status) noexcept;

// Turns the exception under way inside the core into a status with a text.
tl_status status_of_current_exception(const char *where) noexcept;

// Runs a body of the C API: whatever it throws becomes a status.
template <class Body>
tl_status guard(const char *where, Body &&body) noexcept {
  try {
    return body();
  } catch (...) {
    return status_of_current_exception(where);
  }
}

}  // namespace torchlean
