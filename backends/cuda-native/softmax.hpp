// Softmax over the middle axis of (outer, n, inner), and of rows under a mask: entries of the
// normalization family.
#pragma once

#include "instance.hpp"

namespace torchlean::cuda {

void softmax(tl_instance *instance, const tl_operand *x, uint64_t outer, uint64_t n, uint64_t inner,
             tl_flags flags, tl_storage **out);
void masked_softmax(tl_instance *instance, const tl_operand *scores, const tl_operand *mask,
                    uint64_t rows, uint64_t cols, tl_flags flags, tl_storage **out);

}  // namespace torchlean::cuda
