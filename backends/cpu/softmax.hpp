// The entries of softmax, whose loops fill a file of their own.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

// normalization.softmax
void softmax(tl_instance &instance, const tl_operand *operand, uint64_t outer, uint64_t n,
             uint64_t inner, tl_flags, tl_storage **out);

// normalization.masked_softmax
void masked_softmax(tl_instance &instance, const tl_operand *given, const tl_operand *allowed,
                    uint64_t rows, uint64_t cols, tl_flags, tl_storage **out);

}  // namespace torchlean::cpu
