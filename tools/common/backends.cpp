// Opening candidates.
#include "common/backends.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace torchlean::tools {

const char *dtype_name(tl_dtype dtype) {
  static constexpr std::array names = {"float32", "float64", "encoded"};
  return dtype < names.size() ? names[dtype] : "unknown";
}

std::vector<std::string> candidate_names() {
  start();
  std::vector<std::string> names;
  for (const tl_attempt &attempt : attempts()) {
    // Files that did not pass inspection are no backends; without a path it is a name nobody has.
    if (attempt.stage < TL_STAGE_INSPECTED || *attempt.path == '\0') continue;
    if (std::find(names.begin(), names.end(), attempt.name) == names.end()) {
      names.emplace_back(attempt.name);
    }
  }
  return names;
}

std::vector<OpenedBackend> open_backends(const std::vector<std::string> &names) {
  std::vector<OpenedBackend> opened;
  for (const std::string &name : names) {
    const bool is_path = name.find('/') != std::string::npos;
    OpenedBackend entry{name, std::nullopt, ""};
    try {
      entry.backend.emplace(is_path ? std::filesystem::absolute(name).string() : name);
    } catch (const Error &error) {
      entry.reason = error.what();
    }
    opened.push_back(std::move(entry));
  }
  return opened;
}

bool matches(const std::string &pattern, const std::string &name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace torchlean::tools
