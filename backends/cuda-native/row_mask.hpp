// Masks over the rows of a matrix: an entry of the reduction family.
#pragma once

#include "instance.hpp"

namespace torchlean::cuda {

void row_mask(tl_instance *instance, tl_row_mask_op op, const tl_operand *x, uint64_t rows,
              uint64_t cols, uint64_t k, tl_flags flags, tl_storage **out);

}  // namespace torchlean::cuda
