// A sum in many digits, with what its bound is made of.
#pragma once

#include "conformance.hpp"

namespace torchlean::conformance {

template <class T>
struct Sum {
  Number value = 0;
  Number magnitude = 0;
  std::size_t terms = 0;
  std::size_t below_normal = 0;  // terms that add four smallest subnormals each

  void add(const Number &term) {
    static const Number zero = 0, normal = Values<T>::normal;
    const Number size = abs(term);
    value += term;
    magnitude += size;
    ++terms;
    if (size <= normal && !(size <= zero)) ++below_normal;
  }
  // factor * eps * sum of magnitudes
  Number bound(double factor) const {
    return Number(factor) * Values<T>::eps * magnitude +
           Number(4 * static_cast<double>(below_normal)) * Values<T>::tiny;
  }
  // Of sections "Reductions": min(n - 1, 8 max(1, log2 n)).
  double reduction_factor() const {
    const auto n = static_cast<double>(terms);
    return terms < 2 ? 0 : std::min(n - 1, 8 * std::max(1.0, std::log2(n)));
  }
};

}  // namespace torchlean::conformance
