// Sums of many tensors whose error stays small: eight of them are added up, then eight such sums,
// and so on. So no element passes through more than 7 * log8(n) + 7 additions, as few as section 4
// of the specification asks for.
#pragma once

#include "libtorch.hpp"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

namespace torchlean::libtorch {

class Cascade {
 public:
  Cascade(at::IntArrayRef shape, const at::TensorOptions &options)
      : levels_{at::zeros(shape, options)} {}

  // Where the next term is added: zeros, or the sum of fewer than eight terms.
  const at::Tensor &open() const { return levels_[0]; }

  // To be called after each term, which may be a part of the tensor.
  void close() {
    ++terms_;
    uint64_t of_level = 1;
    for (size_t level = 0; terms_ % (of_level *= 8) == 0; ++level) {
      if (level + 1 == levels_.size()) levels_.push_back(at::zeros_like(levels_[level]));
      levels_[level + 1].add_(levels_[level]);
      levels_[level].zero_();
    }
  }

  at::Tensor total() const {
    at::Tensor sum = levels_[0];
    for (size_t level = 1; level < levels_.size(); ++level) sum = levels_[level].add(sum);
    return sum;
  }

 private:
  std::vector<at::Tensor> levels_;
  uint64_t terms_ = 0;
};

}  // namespace torchlean::libtorch
