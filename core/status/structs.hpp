// Filling a caller's structure, of whichever size the caller compiled.
#pragma once

#include <algorithm>
#include <cstring>

#include "status/error.hpp"

namespace torchlean {

// Writes the part of `value` that the caller's struct_size covers, and leaves struct_size as it is.
template <class Struct>
tl_status write_struct(const char *query, Struct *out, const Struct &value) noexcept {
  if (out == nullptr) return fail(TL_INVALID_ARGUMENT, "{}: out is NULL", query);
  const std::size_t size = out->struct_size;
  if (size < 2 * sizeof(size)) {
    return fail(TL_INVALID_ARGUMENT, "{}: out->struct_size is {}, expected sizeof *out = {}", query,
                size, sizeof value);
  }
  std::memcpy(static_cast<void *>(out), &value, std::min(size, sizeof value));
  out->struct_size = size;
  return TL_OK;
}

}  // namespace torchlean
