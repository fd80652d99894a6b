// How work is cut.
#pragma once

#include <type_traits>

namespace torchlean::cpu {

// How many blocks of `size` elements n elements fill, the last one perhaps in part.
template <class N>
constexpr N blocks_in(N n, std::type_identity_t<N> size) {
  return (n + size - 1) / size;
}

// The least multiple of `step` that is not below n.
template <class N>
constexpr N round_up(N n, std::type_identity_t<N> step) {
  return blocks_in(n, step) * step;
}

}  // namespace torchlean::cpu
