// What the machine's memory gives: the yardstick for operations that only move data.
#pragma once

#include <cstdint>

namespace torchlean::tools {

// Bytes read and written per second while memory far larger than the caches is copied, by so many
// threads at once; the fastest round counts.
struct CopyBandwidth {
  double plain = 0;
  double nontemporal = 0;  // stores that pass by the caches; 0 where the processor has none

  double best() const { return plain > nontemporal ? plain : nontemporal; }
};

// Copies for about so many seconds, once at least.
CopyBandwidth measure_copy_bandwidth(std::uint32_t threads, std::uint64_t cache_bytes,
                                     double seconds);

}  // namespace torchlean::tools
