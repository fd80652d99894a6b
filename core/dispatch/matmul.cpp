// Matrix product family: batched, scaled, and on host arrays.
#include "dispatch/call.hpp"

namespace torchlean {
namespace {

// Operands and shape of a batched product; `call` has failed where they do not fit.
struct Product {
  const tl_operand *a = nullptr;
  const tl_operand *b = nullptr;
  tl_bmm_params params = {};
  std::uint64_t count = 0;

  Product(Call &call, const tl_buffer *left, const tl_buffer *right, std::uint64_t batch,
          std::uint64_t m, std::uint64_t n, std::uint64_t p, std::uint32_t transpose_a,
          std::uint32_t transpose_b)
      : a(call.native("a", left)),
        b(call.native("b", right)),
        params{sizeof(tl_bmm_params), batch, m, n, p, transpose_a, transpose_b} {
    call.check_flag("transposeA", transpose_a);
    call.check_flag("transposeB", transpose_b);
    const std::array<std::uint64_t, 3> a_dims = {batch, m, n};
    const std::array<std::uint64_t, 3> b_dims = {batch, n, p};
    const std::array<std::uint64_t, 3> out_dims = {batch, m, p};
    call.check_count("a", a, call.product("batch, m, n", a_dims), "batch * m * n");
    call.check_count("b", b, call.product("batch, n, p", b_dims), "batch * n * p");
    count = call.product("batch, m, p", out_dims);
  }
};

void check_array(Call &call, const char *argument, const void *array, std::uint64_t count,
                 std::uint64_t rows, std::uint64_t cols) {
  const std::array<std::uint64_t, 2> dims = {rows, cols};
  const std::uint64_t expected = call.product(argument, dims);
  if (call.failed()) return;
  if (count != expected) {
    call.refuse(TL_INVALID_ARGUMENT, "{} has {} elements, expected {} * {} = {}", argument, count,
                rows, cols, expected);
  } else if (array == nullptr && count != 0) {
    call.refuse(TL_INVALID_ARGUMENT, "{} is NULL, expected {} elements", argument, count);
  }
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_bmm_with_transpose(const tl_buffer *a, const tl_buffer *b, uint64_t batch, uint64_t m,
                                uint64_t n, uint64_t p, uint32_t transpose_a, uint32_t transpose_b,
                                tl_buffer **out) {
  Call call(TL_OP_bmm_with_transpose);
  const Product product(call, a, b, batch, m, n, p, transpose_a, transpose_b);
  return call.result(out, product.count, [&](Backend &backend, tl_storage **storage) {
    return backend.matmul.bmm(backend.instance, product.a, product.b, &product.params, 0, storage);
  });
}

tl_status tl_bmm_scaled(const tl_buffer *a, const tl_buffer *b, uint64_t batch, uint64_t m,
                        uint64_t n, uint64_t p, uint32_t transpose_a, uint32_t transpose_b,
                        double scale, tl_buffer **out, uint32_t *out_replay) {
  Call call(TL_OP_bmm_scaled);
  const Product product(call, a, b, batch, m, n, p, transpose_a, transpose_b);
  if (out_replay == nullptr) call.refuse(TL_INVALID_ARGUMENT, "out_replay is NULL");
  std::uint32_t replay = 0;
  const tl_status status =
      call.result(out, product.count, [&](Backend &backend, tl_storage **storage) {
        return backend.matmul.bmm_scaled(backend.instance, product.a, product.b, &product.params,
                                         scale, 0, storage, &replay);
      });
  if (status == TL_OK) *out_replay = replay == 0 ? 0 : 1;
  return status;
}

tl_status tl_dgemm(const double *a, uint64_t a_count, const double *b, uint64_t b_count, uint64_t m,
                   uint64_t n, uint64_t p, double *out, uint64_t out_count) {
  Call call(TL_OP_dgemm);
  call.create(TL_FLOAT64);
  check_array(call, "a", a, a_count, m, n);
  check_array(call, "b", b, b_count, n, p);
  check_array(call, "out", out, out_count, m, p);
  if (call.failed()) return call.status();
  Backend &backend = call.backend();
  if (out_count == 0 && !backend.is_null) return TL_OK;
  return call.finish(backend.matmul.dgemm(backend.instance, a, b, m, n, p, out));
}

}  // extern "C"
