// When results are written past the caches.
#include "map.hpp"

#include "threads.hpp"

#include <torchlean/host_system.hpp>

#include <algorithm>

namespace torchlean::cpu {

bool exceeds_caches(uint64_t bytes) {
  static const uint64_t limit = [] {
    constexpr uint64_t mib = uint64_t{1} << 20;
    const uint64_t known = last_level_cache();
    // A few processors of a large machine see the whole of a cache that they have a share in only.
    const uint64_t share = 16 * mib * default_threads();
    return std::min(known > 0 ? known : 32 * mib, share) / 2;  // operands have their part, too
  }();
  return bytes >= limit;
}

}  // namespace torchlean::cpu
