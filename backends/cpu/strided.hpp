// Copies in strided order: what broadcasts, transpositions and their gradients have in common.
#pragma once

#include "cpu.hpp"

#include <array>
#include <span>

namespace torchlean::cpu {

// One axis of an array that is written in row-major order, and how far a step along it goes in the
// array that is read: 0 reads the same again.
struct Axis {
  uint64_t size;
  uint64_t stride;
};

// Axes of two elements or more, neighbours joined where one stride walks both.
class Axes {
 public:
  void append(uint64_t size, uint64_t stride);
  std::span<Axis> all() { return {axis_.data(), rank_}; }
  std::span<const Axis> all() const { return {axis_.data(), rank_}; }

 private:
  std::array<Axis, TL_MAX_RANK> axis_;
  uint32_t rank_ = 0;
};

// The axes of a broadcast whose small side has this many elements; throws where they do not fit it.
Axes broadcast_axes(const tl_broadcast_params *params, uint64_t small_count);

// The number of positions.
uint64_t count_of(std::span<const Axis> axes);

// to[position] = from[sum of coordinate * stride], positions in row-major order. T is native.
template <class T>
void copy_strided(const tl_instance &instance, const Axes &axes, const T *from, T *to);

}  // namespace torchlean::cpu
