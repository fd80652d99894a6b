// A matrix product whose bits do not depend on the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

namespace torchlean::libtorch {

// (batch, m, n) x (batch, n, p) of one native dtype, at any strides. Each element adds its products
// in the order of n: 256 at a time from +0, then these sums from left to right. MKL promises equal
// bits only at one number of threads.
at::Tensor product_in_fixed_order(const at::Tensor &a, const at::Tensor &b);

}  // namespace torchlean::libtorch
