// The operations that ATen does not have as specified, through the backend's table; for tests that
// run on either of their implementations (libtorch, libtorch-composed).
#pragma once

#include "fake_host.hpp"

#include <array>

struct Mode {
  bool deterministic = false;
  uint32_t threads = 2;
};

template <class T>
using Values = std::vector<T>;

// One scan; its coefficients are constant if there are as many as states.
template <class T>
struct ScanInputs {
  Values<T> a, b, x, h0;
  bool varying() const { return a.size() != h0.size(); }
};

template <class T>
struct Operations {
  static Values<T> gather_rows(Mode mode, const Values<T> &source, uint64_t cols,
                               const std::vector<uint32_t> &indices);
  static Values<T> scatter_add_rows(Mode mode, const Values<T> &base, const Values<T> &values,
                                    uint64_t cols, const std::vector<uint32_t> &indices);

  static Values<T> softmax(Mode mode, const Values<T> &x, uint64_t outer, uint64_t n,
                           uint64_t inner);
  static Values<T> masked_softmax(Mode mode, const Values<T> &scores, const Values<T> &mask,
                                  uint64_t cols);

  // result, normalized, invStd
  static std::array<Values<T>, 3> layer_norm(Mode mode, const Values<T> &x, const Values<T> &gamma,
                                             const Values<T> &beta, double epsilon);
  // dX, dGamma, dBeta
  static std::array<Values<T>, 3> layer_norm_bwd(Mode mode, const Values<T> &d_out,
                                                 const Values<T> &normalized,
                                                 const Values<T> &inv_std, const Values<T> &gamma,
                                                 double cols_scale, double inv_cols);

  static Values<T> loss(Mode mode, tl_loss_op op, const Values<T> &prediction,
                        const Values<T> &target, uint64_t cols);

  static Values<T> scan(Mode mode, const ScanInputs<T> &inputs);
  // dA, dB, dX, dH0
  static std::array<Values<T>, 4> scan_bwd(Mode mode, const ScanInputs<T> &inputs,
                                           const Values<T> &h, const Values<T> &d_y);
};
