// Attempt records: how far each candidate came and why it stopped there. They only grow.
#pragma once

#include <torchlean/runtime.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace torchlean {

// A copy of `text` that lives for ever; equal texts share one.
const char *intern(std::string_view text);

struct Attempt {
  std::string name;
  std::string path;
  std::string device;
  tl_stage stage = TL_STAGE_FOUND;
  tl_status status = TL_OK;
  std::string reason;
  std::string missing_libraries;
  std::string built_for;
  std::uint64_t microseconds = 0;
  bool is_serving = false;
};

namespace attempts {

// Adds a record and returns its index. A file's record that was only looked at gives way to one
// that was tried, and a record that says nothing new is not added.
std::size_t record(const Attempt &attempt);

void mark_serving(std::size_t index);

std::size_t count();

// False where there is no such record.
bool get(std::size_t index, tl_attempt &out);

}  // namespace attempts
}  // namespace torchlean
