// The operations that are loops over host memory elsewhere in this folder, composed of ATen's.
#include "composed.hpp"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isneginf.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>
#include <vector>

namespace torchlean::libtorch::composed {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A list of indices on the device of another tensor.
at::Tensor index_list(const std::vector<int64_t> &values, const at::Tensor &like) {
  at::Tensor list = at::detail::empty_cpu({static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), list.mutable_data_ptr<int64_t>());
  return list.to(like.device());
}

}  // namespace

// ---- Indexing -----------------------------------------------------------------------------------

at::Tensor gather_rows(const at::Tensor &source, const uint32_t *indices, int64_t k) {
  const int64_t rows = source.size(0);
  if (rows == 0) return at::zeros({k, source.size(1)}, source.options());
  std::vector<int64_t> picked(static_cast<size_t>(k));
  std::vector<int64_t> absent;
  for (int64_t i = 0; i < k; ++i) {
    if (indices[i] >= rows) absent.push_back(i);
    picked[static_cast<size_t>(i)] = indices[i] < rows ? indices[i] : 0;
  }
  at::Tensor result = at::index_select(source, 0, index_list(picked, source));
  if (!absent.empty()) result.index_fill_(0, index_list(absent, source), 0);
  return result;
}

at::Tensor scatter_add_rows(const at::Tensor &base, const at::Tensor &values,
                            const uint32_t *indices, bool ordered) {
  struct Pass {
    std::vector<int64_t> rows;
    std::vector<int64_t> updates;
  };
  std::vector<Pass> passes(1);
  std::vector<uint32_t> hits(ordered ? static_cast<size_t>(base.size(0)) : 0);
  for (int64_t i = 0; i < values.size(0); ++i) {
    if (indices[i] >= base.size(0)) continue;
    const size_t pass = ordered ? hits[indices[i]]++ : 0;
    if (pass == passes.size()) passes.emplace_back();
    passes[pass].rows.push_back(indices[i]);
    passes[pass].updates.push_back(i);
  }
  at::Tensor result = base.clone();
  for (const Pass &pass : passes) {
    const at::Tensor rows = index_list(pass.rows, base);
    const at::Tensor added = at::index_select(values, 0, index_list(pass.updates, base));
    if (ordered) {
      result.index_copy_(0, rows, at::add(at::index_select(result, 0, rows), added));
    } else {
      result.index_add_(0, rows, added);
    }
  }
  return result;
}

// ---- Normalization ------------------------------------------------------------------------------

namespace {

// exp(x - max) along an axis, in float64, and its sum. -Inf beside a finite maximum has weight +0.
struct Weights {
  at::Tensor max, values, sum;

  Weights(const at::Tensor &x, int64_t axis)
      : max(at::amax(x, axis, /*keepdim=*/true)),
        values(at::exp(at::sub(x, max))),
        sum(at::sum(values, axis, /*keepdim=*/true)) {}

  at::Tensor probabilities() const { return at::div(values, sum); }
};

at::Tensor wide(const at::Tensor &x) { return x.to(at::kDouble); }

at::Tensor softmax_along(const at::Tensor &x, int64_t axis) {
  return Weights(wide(x), axis).probabilities().to(x.scalar_type());
}

}  // namespace

at::Tensor softmax(const at::Tensor &x) { return softmax_along(x, 1); }

at::Tensor masked_softmax(const at::Tensor &scores, const at::Tensor &mask) {
  const at::Tensor blocked = at::eq(mask, 0);
  return softmax_along(scores.masked_fill(blocked, -infinity), 1).masked_fill_(blocked, 0);
}

std::array<at::Tensor, 3> layer_norm(const at::Tensor &x, const at::Tensor &gamma,
                                     const at::Tensor &beta, double epsilon) {
  const at::Tensor values = wide(x);
  const at::Tensor difference = at::sub(values, at::mean(values, 1, /*keepdim=*/true));
  const at::Tensor variance = at::mean(at::mul(difference, difference), 1, /*keepdim=*/true);
  const at::Tensor inv_std = at::reciprocal(at::sqrt(at::add(variance, epsilon)));
  const at::Tensor normalized = at::mul(difference, inv_std).to(x.scalar_type());
  return {at::add(at::mul(normalized, gamma), beta), normalized, inv_std.to(x.scalar_type())};
}

std::array<at::Tensor, 3> layer_norm_bwd(const at::Tensor &d_out, const at::Tensor &normalized,
                                         const at::Tensor &inv_std, const at::Tensor &gamma,
                                         double cols_scale, double inv_cols) {
  const auto sum = [](const at::Tensor &x, int64_t axis, bool keep) {
    return at::sum(x, axis, keep, at::kDouble).to(x.scalar_type());
  };
  const at::Tensor dh = at::mul(d_out, gamma);
  const at::Tensor sum_dh = sum(dh, 1, true);
  const at::Tensor sum_dh_normalized = sum(at::mul(dh, normalized), 1, true);
  const at::Tensor centred =
      at::sub(at::sub(at::mul(dh, cols_scale), sum_dh), at::mul(normalized, sum_dh_normalized));
  const at::Tensor dx = at::mul(at::mul(centred, inv_std.view({-1, 1})), inv_cols);
  return {dx, sum(at::mul(d_out, normalized), 0, false), sum(d_out, 0, false)};
}

// ---- Loss ---------------------------------------------------------------------------------------

at::Tensor loss(tl_loss_op op, const at::Tensor &prediction, const at::Tensor &target) {
  const at::Tensor x = wide(prediction);
  const at::Tensor t = wide(target);
  const auto rows = static_cast<double>(x.size(0));
  const Weights q(x, 1);
  if (op == TL_LOSS_DISTILLATION_GRADIENT) {
    const at::Tensor difference = at::sub(q.probabilities(), Weights(t, 1).probabilities());
    return at::div(difference, rows).to(prediction.scalar_type());
  }
  const at::Tensor log_sum = at::log(q.sum);
  const at::Tensor d = at::add(at::sub(q.max, x), log_sum);
  at::Tensor weight = t;
  if (op == TL_LOSS_DISTILLATION) {
    // Whether an infinite distance counts must not hang on a weight that the dtype does not have.
    const at::Tensor p = Weights(t, 1).probabilities();
    weight = at::where(at::isneginf(x), wide(p.to(target.scalar_type())), p);
  }
  // Where d overflows although x is finite the product with the weight need not.
  const at::Tensor overflows = at::logical_and(at::eq(d, infinity), at::logical_not(at::isinf(x)));
  const at::Tensor apart =
      at::add(at::sub(at::mul(weight, q.max), at::mul(weight, x)), at::mul(weight, log_sum));
  const at::Tensor terms =
      at::where(overflows, apart, at::mul(weight, d)).masked_fill_(at::eq(weight, 0), 0);
  const at::Tensor of_rows = at::sum(terms, 1);
  return at::div(at::sum(of_rows), rows).to(prediction.scalar_type());
}

// ---- Scan ---------------------------------------------------------------------------------------

namespace {

// The coefficients of a step of time.
at::Tensor coefficients(const at::Tensor &a, int64_t t) {
  return a.dim() == 1 ? a : a.select(0, t);
}

// A left fold from +0 in reverse time.
at::Tensor sum_in_reverse(const at::Tensor &terms) {
  at::Tensor sum = at::zeros_like(terms.select(0, 0));
  for (int64_t t = terms.size(0) - 1; t >= 0; --t) sum.add_(terms.select(0, t));
  return sum;
}

}  // namespace

at::Tensor scan(const at::Tensor &a, const at::Tensor &b, const at::Tensor &x,
                const at::Tensor &h0) {
  at::Tensor h = at::mul(b, x);
  at::Tensor previous = h0;
  for (int64_t t = 0; t < x.size(0); ++t) {
    const at::Tensor now = h.select(0, t);
    now.copy_(at::add(at::mul(coefficients(a, t), previous), now));
    previous = now;
  }
  return h;
}

std::array<at::Tensor, 4> scan_bwd(const at::Tensor &a, const at::Tensor &b, const at::Tensor &x,
                                   const at::Tensor &h0, const at::Tensor &h,
                                   const at::Tensor &d_y) {
  const at::Tensor g = d_y.clone();
  at::Tensor from_later;
  for (int64_t t = x.size(0) - 1; t >= 0; --t) {
    at::Tensor now = g.select(0, t);
    if (from_later.defined()) now.add_(from_later);
    from_later = at::mul(coefficients(a, t), now);
  }
  const at::Tensor previous = at::cat({h0.view({1, -1}), h.narrow(0, 0, h.size(0) - 1)});
  const at::Tensor d_a = at::mul(g, previous);
  const at::Tensor d_b = at::mul(g, x);
  const bool constant = a.dim() == 1;
  return {constant ? sum_in_reverse(d_a) : d_a, constant ? sum_in_reverse(d_b) : d_b, at::mul(g, b),
          from_later};
}

}  // namespace torchlean::libtorch::composed
