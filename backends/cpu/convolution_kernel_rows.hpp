// A convolution's kernel as the left operand of matrix products, group by group: rows are target
// channels, columns pairs of source channel and tap of a phase.
#pragma once

#include "convolution_correlation.hpp"

namespace torchlean::cpu {

template <class T>
class KernelRows {
 public:
  // Packs the rows where several tasks will read them.
  KernelRows(const Correlation<T> &at, const Phases &phase, bool packs)
      : at_(at),
        taps_(taps_of(at, phase)),
        depth_(at.sources.count * static_cast<int64_t>(taps_.size())),
        is_dense_(at.to == Side::window && taps_.size() == at.windows.count(Side::tap)),
        gathered_(at.instance, is_dense_ ? 0 : size()),
        panels_(at.instance, packs ? size() : 0),
        is_packed_(packs) {
    if (!is_dense_) gather();
    for (int64_t g = 0; packs && g < at.groups; ++g)
      pack_rows(at.instance, matrix(g), at.targets.count, depth_, panels_.begin() + offset(g));
  }

  int64_t depth() const { return depth_; }

  Left<T> rows(int64_t group, int64_t first, int64_t count) {
    return {matrix(group), is_packed_ ? panels_.begin() + offset(group) : nullptr,
            at_.targets.count, first, count};
  }

 private:
  static std::vector<int64_t> taps_of(const Correlation<T> &at, const Phases &phase) {
    std::vector<int64_t> taps;
    for (const AxisTap &a : phase[0]->taps)
      for (const AxisTap &b : phase[1]->taps)
        for (const AxisTap &c : phase[2]->taps) taps.push_back(at.tap_of(a, b, c));
    return taps;
  }

  uint64_t size() const { return static_cast<uint64_t>(at_.groups * at_.targets.count * depth_); }
  int64_t offset(int64_t group) const { return group * at_.targets.count * depth_; }

  // The kernel's block of a group is what is wanted as it lies there, or it is gathered.
  Matrix<T> matrix(int64_t group) {
    return is_dense_
               ? Matrix<T>{at_.kernel + group * at_.group_stride, at_.targets.kernel_stride, 1}
               : Matrix<T>{gathered_.begin() + offset(group), depth_, 1};
  }

  void gather() {
    each_task(at_.instance, at_.groups * at_.targets.count, depth_,
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  const T *const block = at_.kernel_of(row);
                  T *out = gathered_.begin() + row * depth_;
                  for (int64_t c = 0; c < at_.sources.count; ++c)
                    for (const int64_t tap : taps_)
                      *out++ = block[c * at_.sources.kernel_stride + tap];
                }
              });
  }

  const Correlation<T> &at_;
  const std::vector<int64_t> taps_;  // the kernel's indices
  const int64_t depth_;
  const bool is_dense_;
  Result<T> gathered_;
  Result<T> panels_;
  const bool is_packed_;
};

}  // namespace torchlean::cpu
