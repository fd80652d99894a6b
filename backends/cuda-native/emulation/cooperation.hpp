// CUDA's functions for threads that cooperate, under their own names: barriers, warp operations,
// atomics. What CUDA leaves to the programmer's care, these check.
#pragma once

#include "executor.hpp"

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace torchlean::cuda::emulation {

// The lane whose value a shuffle takes: CUDA's rules for the segments of `width` lanes.
enum class Lane : uint8_t { absolute, up, down, exclusive_or };

inline uint32_t source_lane(Lane rule, uint32_t lane, uint32_t operand, uint32_t width) {
  const uint32_t first = lane / width * width;
  const uint32_t end = first + width;
  switch (rule) {
    case Lane::absolute: return first + operand % width;
    case Lane::up: return lane - first >= operand ? lane - operand : lane;
    case Lane::down: return operand < end - lane ? lane + operand : lane;
    default: return (lane ^ operand) < end ? lane ^ operand : lane;
  }
}

template <class T>
T shuffle(Lane rule, uint32_t mask, T value, uint32_t operand, uint32_t width, Site site) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  WarpRequest request{WarpRequest::Kind::shuffle, mask, 0, 0};
  request.source = source_lane(rule, threadIdx.x % warp_size, operand, width);
  std::memcpy(&request.value, &value, sizeof value);
  const uint64_t taken = Execution::cooperating("a shuffle", site).take_part(request, site);
  std::memcpy(&value, &taken, sizeof value);
  return value;
}

inline uint32_t ballot(uint32_t mask, bool vote, Site site) {
  const WarpRequest request{WarpRequest::Kind::ballot, mask, vote ? 1u : 0u, 0};
  return static_cast<uint32_t>(Execution::cooperating("a ballot", site).take_part(request, site));
}

template <class T>
concept AtomicInteger =
    std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;

// *address = update(*address) as one step; the value before.
template <AtomicInteger T, class Update>
T atomic_update(T *address, Update update) {
  T before = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &before, update(before), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return before;
}

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the names are CUDA's.

inline void __syncthreads(Site site = Site::current()) {
  Execution::cooperating("__syncthreads", site).wait_at_barrier(site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, Site site = Site::current()) {
  Execution::cooperating("__syncwarp", site)
      .take_part({WarpRequest::Kind::synchronize, mask, 0, 0}, site);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, Site site = Site::current()) {
  return shuffle(Lane::absolute, mask, value, static_cast<uint32_t>(lane),
                 static_cast<uint32_t>(width), site);
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 Site site = Site::current()) {
  return shuffle(Lane::up, mask, value, delta, static_cast<uint32_t>(width), site);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   Site site = Site::current()) {
  return shuffle(Lane::down, mask, value, delta, static_cast<uint32_t>(width), site);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, Site site = Site::current()) {
  return shuffle(Lane::exclusive_or, mask, value, static_cast<uint32_t>(lanes),
                 static_cast<uint32_t>(width), site);
}

inline unsigned __ballot_sync(unsigned mask, int vote, Site site = Site::current()) {
  return ballot(mask, vote != 0, site);
}

inline int __any_sync(unsigned mask, int vote, Site site = Site::current()) {
  return ballot(mask, vote != 0, site) != 0 ? 1 : 0;
}

inline int __all_sync(unsigned mask, int vote, Site site = Site::current()) {
  return ballot(mask, vote != 0, site) == mask ? 1 : 0;
}

inline int __popc(unsigned bits) { return std::popcount(bits); }

template <AtomicInteger T>
T atomicAdd(T *address, std::type_identity_t<T> value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

template <AtomicInteger T>
T atomicOr(T *address, std::type_identity_t<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <AtomicInteger T>
T atomicMax(T *address, std::type_identity_t<T> value) {
  return atomic_update(address, [value](T before) { return before < value ? value : before; });
}

template <AtomicInteger T>
T atomicMin(T *address, std::type_identity_t<T> value) {
  return atomic_update(address, [value](T before) { return value < before ? value : before; });
}

}  // namespace torchlean::cuda::emulation

// Kernels anywhere use them as they are.
using torchlean::cuda::emulation::__all_sync;
using torchlean::cuda::emulation::__any_sync;
using torchlean::cuda::emulation::__ballot_sync;
using torchlean::cuda::emulation::__popc;
using torchlean::cuda::emulation::__shfl_down_sync;
using torchlean::cuda::emulation::__shfl_sync;
using torchlean::cuda::emulation::__shfl_up_sync;
using torchlean::cuda::emulation::__shfl_xor_sync;
using torchlean::cuda::emulation::__syncthreads;
using torchlean::cuda::emulation::__syncwarp;
using torchlean::cuda::emulation::atomicAdd;
using torchlean::cuda::emulation::atomicMax;
using torchlean::cuda::emulation::atomicMin;
using torchlean::cuda::emulation::atomicOr;

// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
