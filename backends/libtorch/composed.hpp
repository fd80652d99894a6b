// The operations that are loops over host memory elsewhere in this folder, composed of ATen's: for
// tensors on other devices.
//
// Sums and exponentials of float32 are computed in float64, as in the loops.
#pragma once

#include <ATen/core/Tensor.h>

#include <torchlean/types.h>

#include <array>
#include <cstdint>

namespace torchlean::libtorch::composed {

// (rows, cols) -> (k, cols)
at::Tensor gather_rows(const at::Tensor &source, const uint32_t *indices, int64_t k);

// Ordered: the updates of one row are added in index order, in as many passes as the row that is
// hit most often has updates.
at::Tensor scatter_add_rows(const at::Tensor &base, const at::Tensor &values,
                            const uint32_t *indices, bool ordered);

// Over the middle axis of (outer, n, inner).
at::Tensor softmax(const at::Tensor &x);
at::Tensor masked_softmax(const at::Tensor &scores, const at::Tensor &mask);

// result, normalized, invStd
std::array<at::Tensor, 3> layer_norm(const at::Tensor &x, const at::Tensor &gamma,
                                     const at::Tensor &beta, double epsilon);
// dX, dGamma, dBeta
std::array<at::Tensor, 3> layer_norm_bwd(const at::Tensor &d_out, const at::Tensor &normalized,
                                         const at::Tensor &inv_std, const at::Tensor &gamma,
                                         double cols_scale, double inv_cols);

at::Tensor loss(tl_loss_op op, const at::Tensor &prediction, const at::Tensor &target);

// a and b are (state) or (time, state), h0 is (state), all others (time, state). One step of time
// after the other.
at::Tensor scan(const at::Tensor &a, const at::Tensor &b, const at::Tensor &x,
                const at::Tensor &h0);
// dA, dB, dX, dH0
std::array<at::Tensor, 4> scan_bwd(const at::Tensor &a, const at::Tensor &b, const at::Tensor &x,
                                   const at::Tensor &h0, const at::Tensor &h,
                                   const at::Tensor &d_y);

}  // namespace torchlean::libtorch::composed
