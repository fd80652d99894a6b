// What the matrix products share: the operands' layout and the product itself.
#pragma once

#include "libtorch.hpp"

namespace torchlean::libtorch {

// The shapes of one call, and how its flat operands become matrices.
class ProductLayout {
 public:
  explicit ProductLayout(const tl_bmm_params *params);

  // Views as (batch, m, n) and (batch, n, p); a transposed operand is not copied. Throws where the
  // operand has another number of elements.
  at::Tensor left(const at::Tensor &a) const;
  at::Tensor right(const at::Tensor &b) const;

  int64_t n() const { return n_; }

 private:
  int64_t batch_;
  int64_t m_;
  int64_t n_;
  int64_t p_;
  bool transpose_a_;
  bool transpose_b_;
};

// (batch, m, n) x (batch, n, p), dense: ATen's, but in deterministic mode ours (gemm.hpp).
at::Tensor product(const tl_instance &instance, const at::Tensor &a, const at::Tensor &b);

// scale * a * b of flat operands, and whether the caller has to replay from the originals.
struct ScaledProduct {
  at::Tensor values;
  bool replay;
};

template <class T>
ScaledProduct scaled_product(const tl_instance &instance, const ProductLayout &layout,
                             const at::Tensor &a, const at::Tensor &b, double scale);

}  // namespace torchlean::libtorch
