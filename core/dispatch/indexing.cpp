// Indexing family: rows picked by a list of indices, and rows added to.
#include "dispatch/shape.hpp"

namespace torchlean {
namespace {

struct Indices {
  const std::uint32_t *values;
  std::size_t count;
};

void check_indices(Call &call, const Indices &indices, std::uint64_t k) {
  if (call.failed()) return;
  if (indices.count != k) {
    call.refuse(TL_INVALID_ARGUMENT, "indices has {} entries, expected k = {}", indices.count, k);
  } else if (indices.values == nullptr && k != 0) {
    call.refuse(TL_INVALID_ARGUMENT, "indices is NULL, expected {} entries", k);
  }
}

// Both operands are pinned and checked.
tl_status scatter(Call &call, const tl_operand *base, const tl_operand *values, std::uint64_t rows,
                  std::uint64_t cols, const Indices &indices, std::uint64_t k, tl_buffer **out) {
  check_indices(call, indices, k);
  if (call.failed()) return call.status();
  return call.result(out, base->count, [&](Backend &backend, tl_storage **storage) {
    if (k == 0) return backend.memory.copy(backend.instance, base, 0, storage);
    return backend.indexing.scatter_add_rows(backend.instance, base, values, rows, cols,
                                             indices.values, k, 0, storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_gather_rows(const tl_buffer *mat, uint64_t rows, uint64_t cols,
                         const uint32_t *indices, size_t index_count, uint64_t k, tl_buffer **out) {
  Call call(TL_OP_gather_rows);
  const tl_operand *source = matrix(call, "mat", mat, rows, cols);
  check_indices(call, {indices, index_count}, k);
  const std::array<std::uint64_t, 2> dims = {k, cols};
  const std::uint64_t count = call.product("k and cols", dims);
  if (rows == 0) return call.filled<1>({out}, {count}, 0.0);  // every index is out of range
  return call.result(out, count, [&](Backend &backend, tl_storage **storage) {
    return backend.indexing.gather_rows(backend.instance, source, rows, cols, indices, k, 0,
                                        storage);
  });
}

tl_status tl_scatter_add(const tl_buffer *x, const tl_buffer *values, uint64_t n,
                         const uint32_t *indices, size_t index_count, uint64_t k, tl_buffer **out) {
  Call call(TL_OP_scatter_add);
  const tl_operand *base = call.native("x", x);
  call.check_count("x", base, n, "n");
  const tl_operand *added = call.native("values", values);
  call.check_count("values", added, k, "k");
  return scatter(call, base, added, n, 1, {indices, index_count}, k, out);
}

tl_status tl_scatter_add_rows(const tl_buffer *mat, const tl_buffer *values, uint64_t rows,
                              uint64_t cols, const uint32_t *indices, size_t index_count,
                              uint64_t k, tl_buffer **out) {
  Call call(TL_OP_scatter_add_rows);
  const tl_operand *base = matrix(call, "mat", mat, rows, cols);
  const tl_operand *added = call.native("values", values);
  const std::array<std::uint64_t, 2> dims = {k, cols};
  call.check_count("values", added, call.product("k and cols", dims), "k * cols");
  return scatter(call, base, added, rows, cols, {indices, index_count}, k, out);
}

}  // extern "C"
