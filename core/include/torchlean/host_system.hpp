// What Linux says of the machine, for backends on the host and for tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

namespace torchlean {

// The processor's name as Linux gives it.
inline std::string processor_name(const char *otherwise = "host processor") {
  std::string name = otherwise;
  std::FILE *const file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return name;
  for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;) {
    const std::string_view text = line;
    const size_t colon = text.find(": ");
    if (!text.starts_with("model name") || colon == text.npos) continue;
    name = text.substr(colon + 2);
    if (name.ends_with('\n')) name.pop_back();
    break;
  }
  std::fclose(file);
  return name;
}

// Bytes of memory: _SC_PHYS_PAGES or _SC_AVPHYS_PAGES; 0 where the system does not say.
inline uint64_t bytes_of_pages(int which) {
  const long pages = sysconf(which);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : 0;
}

// Bytes of the last-level cache that the first processor shares in, 0 where the system does not
// say. The C library's figure is ten times too large on some virtual machines.
inline uint64_t last_level_cache() {
  std::FILE *const file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
  if (file == nullptr) return 0;
  unsigned long kibibytes = 0;
  const bool is_read = std::fscanf(file, "%luK", &kibibytes) == 1;
  std::fclose(file);
  return is_read ? uint64_t{kibibytes} << 10 : 0;
}

}  // namespace torchlean
