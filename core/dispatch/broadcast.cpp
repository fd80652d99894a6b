// Checking and merging the axes of a broadcast.
#include "dispatch/broadcast.hpp"

namespace torchlean {
namespace {

void check_axes(Call &call, std::span<const std::uint64_t> in_dims,
                std::span<const std::uint64_t> out_dims, std::span<const std::uint64_t> axis_map) {
  if (call.failed()) return;
  if (axis_map.size() != out_dims.size()) {
    call.refuse(TL_INVALID_ARGUMENT, "axisMap has {} entries, expected {} as outDims",
                axis_map.size(), out_dims.size());
    return;
  }
  std::array<bool, largest_rank> is_used = {};
  for (std::size_t i = 0; i < axis_map.size(); ++i) {
    if (axis_map[i] == 0) continue;
    if (axis_map[i] > in_dims.size()) {
      call.refuse(TL_INVALID_ARGUMENT, "axisMap[{}] is {}, expected 0 to {} (the input's rank)", i,
                  axis_map[i], in_dims.size());
      return;
    }
    const std::size_t axis = axis_map[i] - 1;
    if (is_used[axis]) {
      call.refuse(TL_INVALID_ARGUMENT, "axisMap[{}] repeats input axis {}, expected each once", i,
                  axis);
      return;
    }
    is_used[axis] = true;
    if (in_dims[axis] != 1 && in_dims[axis] != out_dims[i]) {
      call.refuse(TL_INVALID_ARGUMENT,
                  "input axis {} has size {}, expected 1 or {} as output axis {}", axis,
                  in_dims[axis], out_dims[i], i);
      return;
    }
  }
  for (std::size_t axis = 0; axis < in_dims.size(); ++axis) {
    if (!is_used[axis]) {
      call.refuse(TL_INVALID_ARGUMENT, "axisMap lacks input axis {}, expected each once", axis);
      return;
    }
  }
}

// Appends an axis inside the last one, joining both where one stride walks them.
void append_axis(tl_broadcast_params &params, std::uint64_t dim, std::uint64_t stride) {
  if (dim == 1) return;
  if (params.rank > 0) {
    const std::uint32_t last = params.rank - 1;
    if (params.strides[last] == stride * dim) {
      params.dims[last] *= dim;
      params.strides[last] = stride;
      return;
    }
  }
  params.dims[params.rank] = dim;
  params.strides[params.rank] = stride;
  ++params.rank;
}

}  // namespace

Broadcast make_broadcast(Call &call, std::span<const std::uint64_t> in_dims,
                         std::span<const std::uint64_t> out_dims,
                         std::span<const std::uint64_t> axis_map) noexcept {
  Broadcast broadcast;
  broadcast.params.struct_size = sizeof(tl_broadcast_params);
  check_axes(call, in_dims, out_dims, axis_map);
  broadcast.small_count = call.product("inDims", in_dims);
  broadcast.large_count = call.product("outDims", out_dims);
  for (const std::uint64_t count : {broadcast.small_count, broadcast.large_count}) {
    if (count > largest_count) {
      call.refuse(TL_INVALID_ARGUMENT, "the dimensions hold {} elements, at most {} are possible",
                  count, largest_count);
    }
  }
  if (call.failed() || broadcast.small_count == 0 || broadcast.large_count == 0) return broadcast;
  std::array<std::uint64_t, largest_rank> in_strides = {};
  std::uint64_t stride = 1;
  for (std::size_t axis = in_dims.size(); axis-- > 0;) {
    in_strides[axis] = in_dims[axis] == 1 ? 0 : stride;
    stride *= in_dims[axis];
  }
  for (std::size_t i = 0; i < out_dims.size(); ++i) {
    append_axis(broadcast.params, out_dims[i], axis_map[i] == 0 ? 0 : in_strides[axis_map[i] - 1]);
  }
  return broadcast;
}

}  // namespace torchlean
