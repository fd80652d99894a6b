// View family: concatenation, slices, broadcasts, transpositions of neighbouring axes.
#include "dispatch/broadcast.hpp"
#include "dispatch/call.hpp"

using namespace torchlean;

extern "C" {

tl_status tl_concat1d(const tl_buffer *a, const tl_buffer *b, uint64_t first_size,
                      uint64_t second_size, tl_buffer **out) {
  Call call(TL_OP_concat1d);
  const tl_operand *first = call.any("a", a);
  const tl_operand *second = call.any("b", b);
  call.check_count("a", first, first_size, "n");
  call.check_count("b", second, second_size, "m");
  if (call.failed()) return call.status();
  return call.result(out, first->count + second->count,
                     [&](Backend &backend, tl_storage **storage) {
                       return backend.view.concat(backend.instance, first, second, 0, storage);
                     });
}

tl_status tl_slice1d(const tl_buffer *x, uint64_t size, uint64_t start, uint64_t length,
                     tl_buffer **out) {
  Call call(TL_OP_slice1d);
  const tl_operand *operand = call.any("x", x);
  call.check_count("x", operand, size, "n");
  if (call.failed()) return call.status();
  if (start > size || length > size - start) {
    return call.refuse(TL_INVALID_ARGUMENT, "start {} and length {} reach beyond the end, {}",
                       start, length, size);
  }
  return call.result(out, length, [&](Backend &backend, tl_storage **storage) {
    return backend.view.slice(backend.instance, operand, start, length, 0, storage);
  });
}

tl_status tl_broadcast_vec_to_cols(const tl_buffer *vec, uint64_t rows, uint64_t cols,
                                   tl_buffer **out) {
  Call call(TL_OP_broadcast_vec_to_cols);
  const tl_operand *operand = call.native("vec", vec);
  call.check_count("vec", operand, rows, "rows");
  const std::array<std::uint64_t, 1> in_dims = {rows};
  const std::array<std::uint64_t, 2> out_dims = {rows, cols};
  const std::array<std::uint64_t, 2> axis_map = {1, 0};
  const Broadcast broadcast = make_broadcast(call, in_dims, out_dims, axis_map);
  return call.result(out, broadcast.large_count, [&](Backend &backend, tl_storage **storage) {
    return backend.view.broadcast(backend.instance, operand, &broadcast.params, 0, storage);
  });
}

tl_status tl_broadcast_to(const tl_buffer *x, const uint64_t *in_dims, size_t in_rank,
                          const uint64_t *out_dims, size_t out_rank, const uint64_t *axis_map,
                          size_t axis_map_length, tl_buffer **out) {
  Call call(TL_OP_broadcast_to);
  const tl_operand *operand = call.native("x", x);
  const Broadcast broadcast = make_broadcast(call, call.list("inDims", in_dims, in_rank),
                                             call.list("outDims", out_dims, out_rank),
                                             call.list("axisMap", axis_map, axis_map_length));
  call.check_count("x", operand, broadcast.small_count, "the product of inDims");
  return call.result(out, broadcast.large_count, [&](Backend &backend, tl_storage **storage) {
    return backend.view.broadcast(backend.instance, operand, &broadcast.params, 0, storage);
  });
}

tl_status tl_swap_adjacent_at_depth(const tl_buffer *x, const uint64_t *dims, size_t rank,
                                    uint64_t depth, tl_buffer **out) {
  Call call(TL_OP_swap_adjacent_at_depth);
  const tl_operand *operand = call.native("x", x);
  const std::span<const std::uint64_t> axes = call.list("dims", dims, rank);
  call.check_count("x", operand, call.product("dims", axes), "the product of dims");
  if (call.failed()) return call.status();
  if (rank < 2 || depth > rank - 2) {
    return call.refuse(TL_INVALID_ARGUMENT, "depth is {}, expected depth + 1 below the rank {}",
                       depth, rank);
  }
  return call.result(out, operand->count, [&](Backend &backend, tl_storage **storage) {
    const std::uint64_t outer = call.product("dims", axes.first(depth));
    const std::uint64_t inner = call.product("dims", axes.subspan(depth + 2));
    return backend.view.swap(backend.instance, operand, outer, axes[depth], axes[depth + 1], inner,
                             0, storage);
  });
}

}  // extern "C"
