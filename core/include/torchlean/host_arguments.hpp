// The arguments of entries whose checks say more than that counts agree, checked once for all
// backends on host memory: they refuse the same calls with the same words.
#pragma once

#include <torchlean/host_backend.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace torchlean {

// The elements [start, start + length) of an operand of any dtype, as bytes.
inline std::span<const std::byte> part_of(const char *argument, const tl_operand *operand,
                                          uint64_t start, uint64_t length) {
  const std::span<const std::byte> bytes = bytes_of(argument, operand);
  if (start > operand->count || length > operand->count - start)
    throw invalid("start is " + std::to_string(start) + " and length " + std::to_string(length) +
                  ", expected a part of " + std::to_string(operand->count) + " elements");
  return bytes.subspan(start * operand->width, length * operand->width);
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
