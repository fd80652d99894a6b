// Reductions, masks of rows and the scaled product, composed of ATen's.
#include "composed.hpp"

#include "libtorch.hpp"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/any.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

namespace torchlean::libtorch::composed {

at::Tensor total_by_lanes(const at::Tensor &x) {
  constexpr int64_t lanes_per_block = 256;
  constexpr int64_t max_blocks = 65535;
  const int64_t n = x.numel();
  if (n == 0) return at::zeros({1}, x.options());
  const int64_t blocks = std::min((n + lanes_per_block - 1) / lanes_per_block, max_blocks);
  const int64_t lanes = blocks * lanes_per_block;
  at::Tensor sums = at::zeros({lanes}, x.options());
  for (int64_t start = 0; start < n; start += lanes) {
    const int64_t width = std::min(lanes, n - start);
    sums.narrow(0, 0, width).add_(x.narrow(0, start, width));
  }
  const at::Tensor by_block = sums.view({blocks, lanes_per_block});
  for (int64_t width = lanes_per_block / 2; width > 0; width /= 2)
    by_block.narrow(1, 0, width).add_(by_block.narrow(1, width, width));
  const at::Tensor totals = by_block.select(1, 0).clone();
  return blocks == 1 ? totals : total_by_lanes(totals);
}

at::Tensor middle_max(const at::Tensor &x) {
  constexpr double least = -std::numeric_limits<double>::infinity();
  return at::amax(at::where(at::isnan(x), least, x), 1);
}

at::Tensor first_max_mask(const at::Tensor &x) {
  const at::Tensor highest = middle_max(x.unsqueeze(2));
  const at::Tensor is_highest = at::eq(x, highest);  // a NaN never is
  const at::Tensor how_manieth = at::cumsum(is_highest, 1, at::kLong);
  return at::logical_and(is_highest, at::eq(how_manieth, 1)).to(x.scalar_type());
}

std::optional<at::Tensor> top_k_mask(const at::Tensor &x, int64_t k) {
  if (at::any(at::isnan(x)).item<bool>()) return std::nullopt;
  if (k >= x.size(1)) return at::ones_like(x);
  // Zeros of either sign are equal: adding +0 makes them so in bits.
  const at::Tensor order =
      std::get<1>(at::sort(at::add(x, 0), /*stable=*/true, /*dim=*/1, /*descending=*/true));
  return at::zeros_like(x).scatter_(1, order.narrow(1, 0, k), 1);
}

// ---- The scaled product -------------------------------------------------------------------------

at::Tensor survey(const at::Tensor &x, const at::Tensor &source, double least_normal) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (x.numel() == 0) return at::zeros({4}, x.options().dtype(at::kDouble));
  const at::Tensor magnitude = at::abs(x).to(at::kDouble);
  const at::Tensor is_zero = at::eq(magnitude, 0);
  const at::Tensor is_lost = at::logical_and(at::lt(magnitude, least_normal), at::ne(source, 0));
  return at::stack({at::amax(magnitude), at::amin(at::where(is_zero, infinity, magnitude)),
                    at::any(is_zero).to(at::kDouble), at::any(is_lost).to(at::kDouble)});
}

}  // namespace torchlean::libtorch::composed
