// Broadcasts in canonical form: checked lists of axes become merged dims and strides.
#pragma once

#include "dispatch/call.hpp"

namespace torchlean {

struct Broadcast {
  std::uint64_t small_count = 0;  // product of in_dims
  std::uint64_t large_count = 0;  // product of out_dims
  tl_broadcast_params params = {};
};

// The lists of tl_broadcast_to and its adjoint; refuses bad ones through `call`. params is
// meaningful where both counts are above 0: axes of size 1 are gone, and neighbours that one stride
// describes are one axis, so at most 31 are left.
Broadcast make_broadcast(Call &call, std::span<const std::uint64_t> in_dims,
                         std::span<const std::uint64_t> out_dims,
                         std::span<const std::uint64_t> axis_map) noexcept;

}  // namespace torchlean
