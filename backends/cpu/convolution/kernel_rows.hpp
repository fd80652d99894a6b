// A convolution's kernel as the left operand of matrix products, group by group: rows are target
// channels, columns pairs of source channel and tap of a phase.
#pragma once

#include "convolution/correlation.hpp"

namespace torchlean::cpu {

template <class T>
class KernelRows {
 public:
  // Packs the rows where several tasks will read them, or where they do not lie as a matrix.
  KernelRows(const Correlation<T> &at, const Phases &phase, bool is_shared)
      : at_(at),
        taps_(taps_of(at, phase)),
        depth_(at.sources.count * static_cast<int64_t>(taps_.size())),
        is_matrix_(at.to == Side::window && taps_.size() == at.windows.count(Side::tap)),
        is_packed_(is_shared || !is_matrix_),
        panels_(at.instance, is_packed_ ? static_cast<uint64_t>(at.groups * size()) : 0) {
    for (int64_t g = 0; is_packed_ && g < at.groups; ++g)
      if (is_matrix_)
        pack_rows(at.instance, matrix(g), at.targets.count, depth_, panels_.begin() + g * size());
      else
        gather(g, panels_.begin() + g * size());
  }

  int64_t depth() const { return depth_; }

  Left<T> rows(int64_t group, int64_t first, int64_t count) {
    return {matrix(group), is_packed_ ? panels_.begin() + group * size() : nullptr,
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

  int64_t size() const { return at_.targets.count * depth_; }

  // The kernel's block of a group, where it is what is wanted.
  Matrix<T> matrix(int64_t group) const {
    return {at_.kernel + group * at_.group_stride, at_.targets.kernel_stride, 1};
  }

  // Where weights of neighbouring target channels lie close together, those of sources far apart,
  // no processor guesses what the next panel will read: telling it takes a third off the time.
  void gather(int64_t group, T *to) const {
    constexpr int64_t line = 64 / sizeof(T);
    const bool are_close = at_.targets.kernel_stride < at_.sources.kernel_stride;
    const auto taps = static_cast<int64_t>(taps_.size());
    each_row_panel(at_.instance, at_.targets.count, gemm_kernels<T>(at_.instance.target).rows,
                   depth_, depth_block<T>(depth_),
                   [&](int64_t row, int64_t high, int64_t k, int64_t deep, int64_t start) {
                     const T *channel = at_.kernel_of(group * at_.targets.count + row) +
                                        k / taps * at_.sources.kernel_stride;
                     auto tap = taps_.begin() + k % taps;
                     const int64_t neighbours = are_close ? high * at_.targets.kernel_stride : 0;
                     T *out = to + start;
                     for (int64_t i = 0; i < deep; ++i) {
                       for (int64_t r = 0; r < high; ++r)
                         *out++ = channel[*tap + r * at_.targets.kernel_stride];
                       if (++tap != taps_.end()) continue;
                       for (int64_t j = 0; j < neighbours; j += line)
                         __builtin_prefetch(channel + neighbours + j);
                       tap = taps_.begin();
                       channel += at_.sources.kernel_stride;
                     }
                   });
  }

  const Correlation<T> &at_;
  const std::vector<int64_t> taps_;  // the kernel's indices
  const int64_t depth_;
  const bool is_matrix_;
  const bool is_packed_;
  Result<T> panels_;
};

}  // namespace torchlean::cpu
