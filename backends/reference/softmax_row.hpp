// What softmax and the losses have in common: the exponentials of one row and their sum.
#pragma once

#include "wide.hpp"

#include <cstddef>
#include <span>

namespace torchlean::reference {

// exp(x - max) over the row, unrounded. -Inf beside a finite maximum has weight +0; a NaN, +Inf or
// nothing but -Inf makes the sum NaN.
template <class T>
class SoftmaxRow {
 public:
  using W = Wide<T>;

  explicit SoftmaxRow(std::span<const T> row) {
    if (row.empty()) return;
    size_t best = 0;
    for (size_t k = 1; k < row.size(); ++k)
      if (row[k] > row[best] || std::isnan(row[best])) best = k;
    max_ = row[best];
    CompensatedSum<W> others;
    others.add(max_ - max_);  // NaN where exp(max - max) is not 1
    for (size_t k = 0; k < row.size(); ++k)
      if (k != best) others.add(std::exp(row[k] - max_));
    others_ = others.value();
  }

  // exp(x - max) / sum
  W probability(T x) const { return std::exp(x - max_) / (1 + others_); }

  // -log of that, which does not overflow: (max - x) + log sum
  W distance(T x) const { return (max_ - x) + std::log1p(others_); }

 private:
  W max_ = 0;
  W others_ = 0;  // the sum without its largest term, which is 1: log1p keeps what is tiny
};

}  // namespace torchlean::reference
