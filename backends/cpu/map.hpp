// Operations whose result i depends on elements i of the operands alone: how a kernel file's loop
// (map-inl.h) is told its arguments, and how its work is shared out.
#pragma once

#include "threads.hpp"

#include <array>

namespace torchlean::cpu {

template <class T>
struct MapArguments {
  std::array<const T *, 4> in;
  std::array<T *, 3> out;
  std::array<T, 9> scalar;
  // The results are too many for the caches: they are written past them.
  bool past_caches;
};

// Computes elements [begin, end); begin is a multiple of 64 bytes.
template <class T>
using MapLoop = void (*)(const MapArguments<T> &, uint64_t begin, uint64_t end);

// What an operation costs: the fewest elements that are worth waking a thread for, and the fewest
// that one takes at a time.
struct Cost {
  uint64_t shared_from;
  uint64_t grain;
};
inline constexpr Cost costs_memory{32768, 8192};  // little more than moving its elements
inline constexpr Cost costs_steps{8192, 2048};    // some ten steps or more an element

// Whether results of that many bytes, written in one go, would push everything else out of the
// caches and still not be there when they are read.
bool exceeds_caches(uint64_t bytes);

template <class T>
void run_map(const tl_instance &instance, MapLoop<T> loop, Cost cost, MapArguments<T> arguments,
             uint64_t count) {
  arguments.past_caches = exceeds_caches(count * sizeof(T));
  const uint64_t grain = count < cost.shared_from ? count : cost.grain;
  parallel_for(instance, count, grain,
               [&](uint64_t begin, uint64_t end) { loop(arguments, begin, end); });
}

}  // namespace torchlean::cpu
