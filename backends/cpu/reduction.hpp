// Sums over an axis, which other families need, too, and entries that fill files of their own.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

// Elements that make a piece of work.
inline constexpr uint64_t reduced_at_a_time = 16384;

// How x is laid out: (outer, n, inner), the middle axis summed over.
struct MiddleAxis {
  uint64_t outer;
  uint64_t n;
  uint64_t inner;
};

// y[o, i] = the sum of x[o, :, i], 0 where n is 0. in_order: term by term from +0, else in a tree.
template <class T>
void sum_middle(tl_instance &instance, MiddleAxis shape, bool in_order, const T *x, T *y);

// reduction.sum_to_shape
void sum_to_shape(tl_instance &instance, const tl_operand *operand,
                  const tl_broadcast_params *params, uint64_t out_count, tl_flags,
                  tl_storage **out);

// reduction.row_mask
void row_mask(tl_instance &instance, tl_row_mask_op op, const tl_operand *operand, uint64_t rows,
              uint64_t cols, uint64_t k, tl_flags, tl_storage **out);

}  // namespace torchlean::cpu
