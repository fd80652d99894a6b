// Shapes in canonical form: matrices, and one axis with everything before and behind it.
#pragma once

#include "dispatch/call.hpp"

namespace torchlean {

// Pins an input of rows * cols elements; null after a refusal.
const tl_operand *matrix(Call &call, const char *argument, const tl_buffer *buffer,
                         std::uint64_t rows, std::uint64_t cols) noexcept;

// Refuses an axis out of range. Rank 0 is taken for one axis of size 1.
void check_axis(Call &call, std::uint64_t axis, std::size_t rank) noexcept;

struct MiddleAxis {
  std::uint64_t outer = 1;
  std::uint64_t n = 1;
  std::uint64_t inner = 1;
};

// The checked axis as the middle one of three.
MiddleAxis split_at(Call &call, std::span<const std::uint64_t> dims, std::uint64_t axis) noexcept;

}  // namespace torchlean
