// exp, log, log1p, sin, cos and tanh, within 2 ulp.
#pragma once

#include "libtorch.hpp"

namespace torchlean::libtorch {

enum class Elementary { exp, log, log1p, sin, cos, tanh };

// The function of every element of a native tensor.
//
// ATen computes with SLEEF and MKL's VML: within 1 ulp here, in the whole range, but MKL promises
// the same bits at every place of an array only for some processors. In deterministic mode the C
// library computes, one element at a time.
at::Tensor elementary(const tl_instance &instance, Elementary function, const at::Tensor &x);

// The same, over the elements themselves.
void elementary_in_place(const tl_instance &instance, Elementary function, at::Tensor &x);

}  // namespace torchlean::libtorch
