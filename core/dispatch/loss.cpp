// Loss family: cross entropy and distillation, averaged over the rows.
#include <limits>

#include "dispatch/shape.hpp"

namespace torchlean {
namespace {

tl_status scalar_loss(Call &call, tl_loss_op op, const tl_operand *prediction,
                      const tl_operand *target, std::uint64_t rows, std::uint64_t cols,
                      tl_buffer **out) {
  // The mean of no rows is NaN, the sum of no columns 0.
  if (rows == 0) return call.filled<1>({out}, {1}, std::numeric_limits<double>::quiet_NaN());
  if (cols == 0) return call.filled<1>({out}, {1}, 0.0);
  return call.result(out, 1, [&](Backend &backend, tl_storage **storage) {
    return backend.loss.loss(backend.instance, op, prediction, target, rows, cols, 0, storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_cross_entropy(const tl_buffer *logits, const tl_buffer *weights, uint64_t rows,
                           uint64_t cols, tl_buffer **out) {
  Call call(TL_OP_cross_entropy);
  const tl_operand *prediction = matrix(call, "logits", logits, rows, cols);
  const tl_operand *target = matrix(call, "weights", weights, rows, cols);
  return scalar_loss(call, TL_LOSS_CROSS_ENTROPY, prediction, target, rows, cols, out);
}

tl_status tl_distillation(const tl_buffer *student, const tl_buffer *teacher, uint64_t rows,
                          uint64_t cols, uint32_t gradient, tl_buffer **out) {
  Call call(TL_OP_distillation);
  const tl_operand *prediction = matrix(call, "student", student, rows, cols);
  const tl_operand *target = matrix(call, "teacher", teacher, rows, cols);
  call.check_flag("gradient", gradient);
  if (call.failed()) return call.status();
  if (gradient == 0) {
    return scalar_loss(call, TL_LOSS_DISTILLATION, prediction, target, rows, cols, out);
  }
  return call.result(out, prediction->count, [&](Backend &backend, tl_storage **storage) {
    return backend.loss.loss(backend.instance, TL_LOSS_DISTILLATION_GRADIENT, prediction, target,
                             rows, cols, 0, storage);
  });
}

}  // extern "C"
