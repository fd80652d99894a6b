// The walk that pairs the two sides of a broadcast, checked.
#pragma once

#include <torchlean/backend.hpp>

#include <cstdint>

namespace torchlean::cuda {

// What the caller said, whose small side has so many elements. Throws, naming `operation`, where it
// contradicts itself.
tl_broadcast_params known_broadcast(const char *operation, const tl_broadcast_params &params,
                                    uint64_t small_count);

// The number of elements of the large side.
inline uint64_t large_count(const tl_broadcast_params &known) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < known.rank; ++i) {
    count *= known.dims[i];
  }
  return count;
}

}  // namespace torchlean::cuda
