// How work is cut.
#pragma once

#include <cstdint>

namespace torchlean::cpu {

// How many blocks of `size` elements n elements fill, the last one perhaps in part.
constexpr uint64_t blocks_in(uint64_t n, uint64_t size) { return (n + size - 1) / size; }

}  // namespace torchlean::cpu
