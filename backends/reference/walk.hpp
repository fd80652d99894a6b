// The walk that pairs the elements of a broadcast's two sides.
#pragma once

#include "reference.hpp"

#include <vector>

namespace torchlean::reference {

// One axis of a rectangle, and how far a step along it goes on either side.
struct Axis {
  uint64_t size;
  uint64_t large_stride;
  uint64_t small_stride;
};

// The axes of a broadcast whose small side has this many elements; throws where they do not fit it.
std::vector<Axis> broadcast_axes(const tl_broadcast_params *params, uint64_t small_count);

// The number of elements of the large side.
inline uint64_t large_count(std::span<const Axis> axes) {
  return axes.empty() ? 1 : axes.front().size * axes.front().large_stride;
}

// Calls visit(large index, small index) for each position, the last axis running fastest.
template <class Visit>
void walk(std::span<const Axis> axes, uint64_t large, uint64_t small, Visit visit) {
  if (axes.empty()) return visit(large, small);
  const Axis &axis = axes.front();
  for (uint64_t i = 0; i < axis.size; ++i)
    walk(axes.subspan(1), large + i * axis.large_stride, small + i * axis.small_stride, visit);
}

}  // namespace torchlean::reference
