// The machine and the moment: what a table of times belongs to.
#pragma once

#include <cstdint>
#include <string>

namespace torchlean::tools {

struct Machine {
  std::string processor;         // model name
  std::string system;            // "Linux 6.1.0 x86_64"
  std::string date;              // "2026-11-29 22:40 UTC"
  std::uint32_t processors = 0;  // that this process may use
  double load = 0;  // threads that wanted a processor in the last minute, of all programs
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;  // last level; 0 where the system does not tell
};
Machine this_machine();

}  // namespace torchlean::tools
