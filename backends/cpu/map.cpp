// When results are written past the caches.
#include "map.hpp"

#include <cstdio>

namespace torchlean::cpu {
namespace {

// Bytes of the last-level cache that the first processor shares in. The C library's figure is ten
// times too large on some virtual machines.
uint64_t last_level_cache() {
  constexpr uint64_t usual = uint64_t{32} << 20;
  std::FILE *const file = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
  if (file == nullptr) return usual;
  unsigned long kibibytes = 0;
  const bool is_read = std::fscanf(file, "%luK", &kibibytes) == 1 && kibibytes > 0;
  std::fclose(file);
  return is_read ? uint64_t{kibibytes} << 10 : usual;
}

}  // namespace

bool exceeds_caches(uint64_t bytes) {
  static const uint64_t limit = [] {
    // Operands have their share, too.
    return last_level_cache() / 2;
  }();
  return bytes > limit;
}

}  // namespace torchlean::cpu
