// Matrices, and one axis among others.
#include "dispatch/shape.hpp"

namespace torchlean {

const tl_operand *matrix(Call &call, const char *argument, const tl_buffer *buffer,
                         std::uint64_t rows, std::uint64_t cols) noexcept {
  const tl_operand *operand = call.native(argument, buffer);
  const std::array<std::uint64_t, 2> dims = {rows, cols};
  call.check_count(argument, operand, call.product("rows and cols", dims), "rows * cols");
  return call.failed() ? nullptr : operand;
}

void check_axis(Call &call, std::uint64_t axis, std::size_t rank) noexcept {
  if (call.failed() || axis < std::max<std::size_t>(rank, 1)) return;
  call.refuse(TL_INVALID_ARGUMENT, "axis is {}, expected less than the rank {}", axis, rank);
}

MiddleAxis split_at(Call &call, std::span<const std::uint64_t> dims, std::uint64_t axis) noexcept {
  if (call.failed() || dims.empty()) return {};
  return {call.product("dims", dims.first(axis)), dims[axis],
          call.product("dims", dims.subspan(axis + 1))};
}

}  // namespace torchlean
