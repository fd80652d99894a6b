// Counts, and arguments of entries whose checks say more than that counts agree: checked once for
// all backends, which so refuse the same calls with the same words.
//
// Header only, like backend.hpp.
#pragma once

#include <torchlean/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace torchlean {

// Largest number of elements of a buffer.
inline constexpr uint64_t max_count = UINT32_MAX;

inline void check_count(uint64_t count) {
  if (count > max_count)
    throw invalid("count is " + std::to_string(count) + ", expected at most 2^32 - 1");
}

// The product of dimensions, UINT64_MAX (which no buffer has) where it leaves 64 bits.
inline uint64_t product(std::span<const uint64_t> dims) {
  uint64_t result = 1;
  for (const uint64_t dim : dims)
    if (__builtin_mul_overflow(result, dim, &result)) result = UINT64_MAX;
  return result;
}

inline uint64_t product(std::initializer_list<uint64_t> dims) {
  return product(std::span(dims.begin(), dims.size()));
}

// The sum of counts, saturated in the same way.
inline uint64_t sum(std::initializer_list<uint64_t> counts) {
  uint64_t result = 0;
  for (const uint64_t count : counts)
    if (__builtin_add_overflow(result, count, &result)) result = UINT64_MAX;
  return result;
}

// Writes the members that the caller's form of the structure has.
template <class Structure>
void give(const char *argument, Structure full, Structure *out) {
  full.struct_size = known_part(argument, out, sizeof(size_t)).struct_size;
  std::memcpy(out, &full, std::min(full.struct_size, sizeof(Structure)));
}

// The parameters of a broadcast from small_count elements.
inline tl_broadcast_params known_broadcast(const tl_broadcast_params *params,
                                           uint64_t small_count) {
  const tl_broadcast_params known = known_part("params", params);
  if (known.rank > TL_MAX_RANK)
    throw invalid("params.rank is " + std::to_string(known.rank) + ", expected at most " +
                  std::to_string(TL_MAX_RANK));
  const uint64_t count = product(std::span(known.dims, known.rank));
  if (count == 0) throw invalid("params.dims holds a 0, expected at least 1 everywhere");
  check_count(count);
  uint64_t last = 0;  // the small side's index at the far corner
  for (uint32_t i = 0; i < known.rank; ++i)
    last = sum({last, product({known.dims[i] - 1, known.strides[i]})});
  if (last >= small_count)
    throw invalid("params.strides reach element " + std::to_string(last) + " of " +
                  std::to_string(small_count));
  return known;
}

// The shape of a matrix product of operands with that many elements.
inline tl_bmm_params known_bmm(const tl_bmm_params *params, uint64_t a_count, uint64_t b_count) {
  const tl_bmm_params shape = known_part("params", params);
  if (shape.transpose_a > 1 || shape.transpose_b > 1)
    throw invalid("params.transpose_a and transpose_b are " + std::to_string(shape.transpose_a) +
                  " and " + std::to_string(shape.transpose_b) + ", expected 0 or 1");
  expect_equal("a.count", a_count, product({shape.batch, shape.m, shape.n}));
  expect_equal("b.count", b_count, product({shape.batch, shape.n, shape.p}));
  check_count(product({shape.batch, shape.m, shape.p}));
  return shape;
}

// The rows of a layer norm, which has a mean to take.
inline void check_not_empty(uint64_t rows, uint64_t cols) {
  if (rows == 0 || cols == 0)
    throw invalid("rows and cols are " + std::to_string(rows) + " and " + std::to_string(cols) +
                  ", expected at least 1");
}

}  // namespace torchlean
