// Loops of a thread over elements of which several are under way from memory at once.
//
// A compiler may not move a load over the store before it, nor over a branch; here it need not.
#pragma once

#include "arithmetic.cuh"

namespace torchlean::cuda {

// use(k, load(k)) for k = 0 .. count - 1 in this order. load(k) may not depend on what use() does.
template <uint64_t ahead = 8, class Load, class Use>
__device__ void load_ahead(uint64_t count, Load load, Use use) {
  using Item = decltype(load(uint64_t{0}));
  uint64_t first = 0;
  for (; first + ahead <= count; first += ahead) {
    Item items[ahead];
    for (uint64_t k = 0; k < ahead; ++k) {
      items[k] = load(first + k);
    }
    for (uint64_t k = 0; k < ahead; ++k) {
      use(first + k, items[k]);
    }
  }
  for (; first < count; ++first) {
    use(first, load(first));
  }
}

}  // namespace torchlean::cuda
