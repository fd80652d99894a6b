// When results are written past the caches.
#include "map.hpp"

#include <torchlean/host_system.hpp>

namespace torchlean::cpu {
bool exceeds_caches(uint64_t bytes) {
  static const uint64_t limit = [] {
    constexpr uint64_t usual = uint64_t{32} << 20;
    const uint64_t known = last_level_cache();
    return (known > 0 ? known : usual) / 2;  // operands have their share, too
  }();
  return bytes > limit;
}

}  // namespace torchlean::cpu
