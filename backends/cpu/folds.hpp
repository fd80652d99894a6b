// How sums and maxima join their terms, whatever the vectors: the part without vectors of
// fold-inl.h.
#pragma once

#include <cstdint>
#include <limits>

namespace torchlean::cpu {

struct Sum {
  template <class T>
  static constexpr T start() {
    return 0;
  }
  template <class T>
  static constexpr T join(T a, T b) {
    return a + b;
  }
};

// a is no NaN; where b is one it is skipped.
struct Maximum {
  template <class T>
  static constexpr T start() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class T>
  static constexpr T join(T a, T b) {
    return b > a ? b : a;
  }
};

// Two sums that are taken side by side, or two of their terms.
template <class T>
struct Two {
  T first;
  T second;
};
template <class T>
Two(T, T) -> Two<T>;

template <class T>
constexpr Two<T> operator+(const Two<T> &a, const Two<T> &b) {
  return {a.first + b.first, a.second + b.second};
}

// Terms that fold by halves into one.
inline constexpr uint64_t fold_block = 256;

// A sum in pairs, pairs of pairs and so on of terms that come one after the other: the tree, and
// with it every bit, depends on the number of terms alone. Up to 2^32 of them.
template <class T>
class PairwiseSum {
 public:
  void add(T term) {
    for (uint64_t before = count_++; before % 2 != 0; before /= 2) term = waiting_[--depth_] + term;
    waiting_[depth_++] = term;
  }

  // 0 of nothing.
  T value() const {
    if (depth_ == 0) return T{};
    T sum = waiting_[depth_ - 1];
    for (uint32_t i = depth_ - 1; i-- > 0;) sum = waiting_[i] + sum;
    return sum;
  }

 private:
  uint64_t count_ = 0;
  uint32_t depth_ = 0;
  T waiting_[33];
};

}  // namespace torchlean::cpu
