// Bytes moved without a change, shared out among threads and past the caches where they are many.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

void copy_bytes(const tl_instance &instance, const void *from, void *to, uint64_t bytes);

// Repeats the eight bytes of `pattern`. `to` is aligned to 64.
void fill_bytes(const tl_instance &instance, uint64_t pattern, void *to, uint64_t bytes);

}  // namespace torchlean::cpu
