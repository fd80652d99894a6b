// The operations that are loops over host memory elsewhere in this folder, composed of ATen's: for
// tensors on other devices.
//
// Sums and exponentials of float32 are computed in float64, as in the loops, in the families below
// the reductions.
#pragma once

#include <ATen/core/Tensor.h>

#include <torchlean/backend.h>

#include <array>
#include <cstdint>
#include <optional>

namespace torchlean::libtorch::composed {

// ---- Storages (composed_elementwise.cpp) --------------------------------------------------------

at::Tensor fill(at::Device device, tl_dtype dtype, uint32_t width, int64_t count, double value);

// From and to the caller's memory, complete on return.
at::Tensor upload(at::Device device, const void *words, tl_dtype source, tl_dtype dtype,
                  uint32_t width, int64_t count);
void download(const at::Tensor &x, tl_dtype target, void *words);

// ---- Elementwise, optimizer, random numbers (composed_elementwise.cpp) --------------------------

// `first` and `second` are the operation's scalars, rounded to the dtype.
at::Tensor unary(tl_unary_op op, const at::Tensor &x, double first, double second);
at::Tensor binary(tl_binary_op op, const at::Tensor &a, const at::Tensor &b, double first,
                  double second);
// dA, dB
std::array<at::Tensor, 2> select_bwd(tl_select_bwd_op op, const at::Tensor &a, const at::Tensor &b,
                                     const at::Tensor &gradient);

// New parameters, first moment, second moment.
std::array<at::Tensor, 3> adam_step(const at::Tensor &p, const at::Tensor &g, const at::Tensor &m,
                                    const at::Tensor &v, const tl_adam_params &params);

at::Tensor random(tl_random_op op, at::Device device, tl_dtype dtype, int64_t count, uint64_t key,
                  double first, double second);

// ---- Reductions (composed_reduction.cpp) --------------------------------------------------------

// The total in the order that deterministic mode prescribes (folds.hpp).
at::Tensor total_by_lanes(const at::Tensor &x);

// Over the middle axis of (outer, n > 0, inner).
at::Tensor middle_max(const at::Tensor &x);

// Of the rows of a matrix. None where an entry is NaN: no sort of ATen's has the specified order.
at::Tensor first_max_mask(const at::Tensor &x);
std::optional<at::Tensor> top_k_mask(const at::Tensor &x, int64_t k);

// Of an array made from another one, four float64: the largest magnitude, the smallest that is not
// zero, whether there is a zero, whether an element is zero or subnormal though its source is not
// zero. Zeros for an empty one.
at::Tensor survey(const at::Tensor &x, const at::Tensor &source, double least_normal);

// ---- Indexing, normalization, loss, scan (composed.cpp) -----------------------------------------

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
