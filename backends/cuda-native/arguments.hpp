// Parameters that hold more than counts, checked; those of windows are in windows.hpp.
#pragma once

#include <torchlean/backend.hpp>

#include <cstdint>

namespace torchlean::cuda {

// What the caller said of operands with so many elements. Throws, naming `operation`, where it
// contradicts itself or them.
tl_bmm_params known_bmm(const char *operation, const tl_bmm_params &params, uint64_t a_count,
                        uint64_t b_count);
tl_broadcast_params known_broadcast(const char *operation, const tl_broadcast_params &params,
                                    uint64_t small_count);

// The number of elements of a broadcast's large side.
inline uint64_t large_count(const tl_broadcast_params &known) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < known.rank; ++i) {
    count *= known.dims[i];
  }
  return count;
}

}  // namespace torchlean::cuda
