// Random numbers: element i is a function of key + i alone.
#include "correctly_rounded.hpp"
#include "reference.hpp"

#include <cmath>

namespace torchlean::reference {
namespace {

// The low 32 bits of SplitMix64's finalizer.
uint32_t random_bits(uint64_t key, uint64_t i) {
  uint64_t z = key + i + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<uint32_t>(z ^ (z >> 31));
}

template <class T>
T uniform(uint64_t key, uint64_t i) {
  return static_cast<T>(random_bits(key, i) / 0x1p32);
}

template <class T>
T normal(uint64_t key, uint64_t i, T mean, T standard_deviation) {
  const T two_pi = static_cast<T>(6.283185307179586);
  const T u1 = static_cast<T>((random_bits(key, 2 * i) + 1.0) / (0x1p32 + 1.0));
  const T u2 = uniform<T>(key, 2 * i + 1);
  const T r = std::sqrt(std::fmax(T(0), T(-2) * correctly_rounded::log(u1)));
  return std::fma(standard_deviation * r, correctly_rounded::cos(two_pi * u2), mean);
}

// A probability of NaN is never exceeded, so it gives 0.
template <class T>
T bernoulli(uint64_t key, uint64_t i, T probability) {
  return probability >= 1 || uniform<T>(key, i) < probability ? T(1) : T(0);
}

void generate(tl_instance &instance, tl_random_op op, tl_dtype dtype, uint64_t count, uint64_t key,
              const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const tl_scalars known = known_part("scalars", scalars);
  check_count(count);
  with_native(dtype, [&]<class T>(T) {
    const T first = static_cast<T>(known.scalar[0]);
    const T second = static_cast<T>(known.scalar[1]);
    Result<T> y(instance, count);
    for (uint64_t i = 0; i < count; ++i) {
      switch (op) {
        case TL_RANDOM_UNIFORM: y[i] = uniform<T>(key, i); break;
        case TL_RANDOM_NORMAL: y[i] = normal(key, i, first, second); break;
        case TL_RANDOM_BERNOULLI: y[i] = bernoulli(key, i, first); break;
        default: throw unknown("op", op);
      }
    }
    hand_out(out, y);
  });
}

}  // namespace

const tl_random_table random_table = {
    .struct_size = sizeof(tl_random_table),
    .generate = entry<"generate", generate>,
};

}  // namespace torchlean::reference
