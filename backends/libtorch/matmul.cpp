// Matrix products: ATen's, but in deterministic mode (gemm.hpp).
#include "matmul.hpp"

#include "gemm.hpp"
#include "kernels.hpp"

#include <ATen/ops/bmm.h>

namespace torchlean::libtorch {

ProductLayout::ProductLayout(const tl_bmm_params *params) {
  const tl_bmm_params &known = known_part("params", params);
  if (known.transpose_a > 1) throw unknown("transpose_a", known.transpose_a);
  if (known.transpose_b > 1) throw unknown("transpose_b", known.transpose_b);
  batch_ = extent("batch", known.batch);
  m_ = extent("m", known.m);
  n_ = extent("n", known.n);
  p_ = extent("p", known.p);
  transpose_a_ = known.transpose_a == 1;
  transpose_b_ = known.transpose_b == 1;
}

at::Tensor ProductLayout::left(const at::Tensor &a) const {
  return transpose_a_ ? shaped("a", a, {batch_, n_, m_}).transpose(1, 2)
                      : shaped("a", a, {batch_, m_, n_});
}

at::Tensor ProductLayout::right(const at::Tensor &b) const {
  return transpose_b_ ? shaped("b", b, {batch_, p_, n_}).transpose(1, 2)
                      : shaped("b", b, {batch_, n_, p_});
}

at::Tensor product(const tl_instance &instance, const at::Tensor &a, const at::Tensor &b) {
  return instance.deterministic && a.is_cpu() ? product_in_fixed_order(a, b)
                                              : at::bmm(a, b).contiguous();
}

namespace {

void bmm(tl_instance &instance, const tl_operand *a, const tl_operand *b,
         const tl_bmm_params *params, tl_flags, tl_storage **out) {
  const at::Tensor left = native_tensor("a", a);
  const at::Tensor right = native_tensor("b", b);
  expect_equal("b.dtype", b->dtype, a->dtype);
  const ProductLayout layout(params);
  hand_out(out, product(instance, layout.left(left), layout.right(right)));
}

void bmm_scaled(tl_instance &instance, const tl_operand *a, const tl_operand *b,
                const tl_bmm_params *params, double scale, tl_flags, tl_storage **out,
                uint32_t *out_replay) {
  expect_given("out_replay", out_replay);
  const at::Tensor left = native_tensor("a", a);
  const at::Tensor right = native_tensor("b", b);
  expect_equal("b.dtype", b->dtype, a->dtype);
  const ProductLayout layout(params);
  with_native(a->dtype, [&]<class T>(T) {
    const ScaledProduct result = scaled_product<T>(instance, layout, left, right, scale);
    hand_out(out, result.values);
    *out_replay = result.replay ? 1 : 0;
  });
}

// A host matrix as a batch of one. It is copied, since MKL's bits may depend on where its operands
// lie in memory, and ATen's blocks all start alike.
at::Tensor matrix(const char *argument, const double *from, uint64_t rows, uint64_t cols) {
  at::Tensor result =
      at::detail::empty_cpu({1, extent("rows", rows), extent("cols", cols)}, at::kDouble);
  if (result.numel() == 0) return result;
  expect_given(argument, from);
  double *const to = result.mutable_data_ptr<double>();
  each(result.numel(), [=](int64_t i) { to[i] = from[i]; });
  return result;
}

void dgemm(tl_instance &instance, const double *a, const double *b, uint64_t m, uint64_t n,
           uint64_t p, double *out) {
  expect_given("out", out);
  const at::Device device = instance.device();
  const at::Tensor result =
      product(instance, matrix("a", a, m, n).to(device), matrix("b", b, n, p).to(device)).cpu();
  const double *const from = result.const_data_ptr<double>();
  each(result.numel(), [=](int64_t i) { out[i] = from[i]; });
}

}  // namespace

const tl_matmul_table matmul_table = {
    .struct_size = sizeof(tl_matmul_table),
    .bmm = entry<"bmm", bmm>,
    .bmm_scaled = entry<"bmm_scaled", bmm_scaled>,
    .dgemm = entry<"dgemm", dgemm>,
};

}  // namespace torchlean::libtorch
