// Reading what the program `probe` (tests/runtime/probe.c) prints.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace torchlean_test {

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The lines that describe attempts for the backend `name`:
// "attempt name|path|stage|status|is serving|reason".
inline std::vector<std::string> attempts_of(const Finished &finished, const std::string &name) {
  std::vector<std::string> lines;
  std::istringstream stream(finished.out);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind("attempt " + name + "|", 0) == 0) lines.push_back(line);
  }
  return lines;
}

}  // namespace torchlean_test
