// The order in which blocks and threads run: a parameter, since no kernel may depend on it.
#pragma once

#include <cstdint>
#include <numeric>

namespace torchlean::cuda::emulation {

// The splitmix64 finalizer: unrelated numbers from neighbouring ones.
constexpr uint64_t mixed(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

// The seed of one part of a schedule: another for each part. Seed 0 is the natural order and stays.
constexpr uint64_t seed_of_part(uint64_t seed, uint64_t part) {
  return seed == 0 ? 0 : mixed(mixed(seed) + part);
}

// A permutation of 0 .. count - 1 that needs no memory: i -> (factor * i + offset) mod count, with
// a factor that shares no divisor with count.
class Permutation {
 public:
  Permutation(uint64_t seed, uint32_t count) : count_(count) {
    if (seed == 0) {
      return;
    }
    offset_ = mixed(seed) % count;
    factor_ = mixed(seed + 1) % count;
    while (std::gcd(factor_, uint64_t{count}) != 1) {
      factor_ = (factor_ + 1) % count;
    }
  }
  uint32_t operator()(uint32_t i) const {
    return static_cast<uint32_t>((factor_ * i + offset_) % count_);
  }

 private:
  uint64_t count_;
  uint64_t factor_ = 1;
  uint64_t offset_ = 0;
};

}  // namespace torchlean::cuda::emulation
