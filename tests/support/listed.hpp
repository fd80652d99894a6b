// The paths that a test is told in one string, with commas between them (torchlean_host_backends).
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace torchlean_test {

inline std::vector<std::string> listed(const char *paths) {
  std::vector<std::string> found;
  std::istringstream text(paths);
  for (std::string path; std::getline(text, path, ',');) found.push_back(path);
  return found;
}

}  // namespace torchlean_test
