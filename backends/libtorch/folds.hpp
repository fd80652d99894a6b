// Sums in the order that deterministic mode prescribes (section 4 of the specification).
#pragma once

#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {

// The total of n >= 0 elements: 256 lanes per block, each a left fold from +0 over every (blocks *
// 256)-th element; a block folds its lanes by halves; the blocks' results go the same way.
template <class T>
T total_by_lanes(const T *x, int64_t n);

// out[o, i] = x[o, 0, i] + x[o, 1, i] + ..., a left fold from +0, for x of (outer, n, inner).
template <class T>
void fold_middle_axis(T *out, const T *x, int64_t outer, int64_t n, int64_t inner);

}  // namespace torchlean::libtorch
