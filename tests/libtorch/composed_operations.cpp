// The operations composed of ATen's, as the backend has them on other devices than the host. They
// run on the host here.
#include "operations.hpp"

#include "composed.hpp"

#include <ATen/ops/from_blob.h>

namespace composed = torchlean::libtorch::composed;

namespace {

// A view; nothing here writes to its operands.
template <class T>
at::Tensor tensor(const Values<T> &values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<T *>(values.data()), shape,
                       sizeof(T) == sizeof(float) ? at::kFloat : at::kDouble);
}

template <class T>
at::Tensor vector(const Values<T> &values) {
  return tensor(values, static_cast<int64_t>(values.size()));
}

template <class T>
at::Tensor matrix(const Values<T> &values, uint64_t cols) {
  return tensor(values, {static_cast<int64_t>(values.size() / cols), static_cast<int64_t>(cols)});
}

template <class T>
Values<T> values_of(const at::Tensor &tensor) {
  const at::Tensor flat = tensor.contiguous();
  const T *const from = flat.const_data_ptr<T>();
  return {from, from + flat.numel()};
}

template <class T, size_t size>
std::array<Values<T>, size> values_of(const std::array<at::Tensor, size> &tensors) {
  std::array<Values<T>, size> values;
  for (size_t i = 0; i < size; ++i) values[i] = values_of<T>(tensors[i]);
  return values;
}

}  // namespace

template <class T>
Values<T> Operations<T>::gather_rows(Mode, const Values<T> &source, uint64_t cols,
                                     const std::vector<uint32_t> &indices) {
  return values_of<T>(composed::gather_rows(matrix(source, cols), indices.data(),
                                            static_cast<int64_t>(indices.size())));
}

template <class T>
Values<T> Operations<T>::scatter_add_rows(Mode mode, const Values<T> &base, const Values<T> &values,
                                          uint64_t cols, const std::vector<uint32_t> &indices) {
  return values_of<T>(composed::scatter_add_rows(matrix(base, cols), matrix(values, cols),
                                                 indices.data(), mode.deterministic));
}

template <class T>
Values<T> Operations<T>::softmax(Mode, const Values<T> &x, uint64_t outer, uint64_t n,
                                 uint64_t inner) {
  return values_of<T>(composed::softmax(tensor(
      x, {static_cast<int64_t>(outer), static_cast<int64_t>(n), static_cast<int64_t>(inner)})));
}

template <class T>
Values<T> Operations<T>::masked_softmax(Mode, const Values<T> &scores, const Values<T> &mask,
                                        uint64_t cols) {
  return values_of<T>(composed::masked_softmax(matrix(scores, cols), matrix(mask, cols)));
}

template <class T>
std::array<Values<T>, 3> Operations<T>::layer_norm(Mode, const Values<T> &x, const Values<T> &gamma,
                                                   const Values<T> &beta, double epsilon) {
  return values_of<T>(
      composed::layer_norm(matrix(x, gamma.size()), vector(gamma), vector(beta), epsilon));
}

template <class T>
std::array<Values<T>, 3> Operations<T>::layer_norm_bwd(Mode, const Values<T> &d_out,
                                                       const Values<T> &normalized,
                                                       const Values<T> &inv_std,
                                                       const Values<T> &gamma, double cols_scale,
                                                       double inv_cols) {
  return values_of<T>(composed::layer_norm_bwd(matrix(d_out, gamma.size()),
                                               matrix(normalized, gamma.size()), vector(inv_std),
                                               vector(gamma), cols_scale, inv_cols));
}

template <class T>
Values<T> Operations<T>::loss(Mode, tl_loss_op op, const Values<T> &prediction,
                              const Values<T> &target, uint64_t cols) {
  return values_of<T>(composed::loss(op, matrix(prediction, cols), matrix(target, cols)));
}

namespace {

template <class T>
at::Tensor coefficients(const ScanInputs<T> &inputs, const Values<T> &values) {
  return inputs.varying() ? matrix(values, inputs.h0.size()) : vector(values);
}

}  // namespace

template <class T>
Values<T> Operations<T>::scan(Mode, const ScanInputs<T> &s) {
  return values_of<T>(composed::scan(coefficients(s, s.a), coefficients(s, s.b),
                                     matrix(s.x, s.h0.size()), vector(s.h0)));
}

template <class T>
std::array<Values<T>, 4> Operations<T>::scan_bwd(Mode, const ScanInputs<T> &s, const Values<T> &h,
                                                 const Values<T> &d_y) {
  const size_t state = s.h0.size();
  return values_of<T>(composed::scan_bwd(coefficients(s, s.a), coefficients(s, s.b),
                                         matrix(s.x, state), vector(s.h0), matrix(h, state),
                                         matrix(d_y, state)));
}

template struct Operations<float>;
template struct Operations<double>;
