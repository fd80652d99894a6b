// Operands in, results out: the checks between tl_operand and at::Tensor.
#include "libtorch.hpp"

#include <ATen/ops/empty.h>

#include <vector>

namespace torchlean::libtorch {

void check_width(tl_dtype dtype, uint32_t width) {
  switch (dtype) {
    case TL_FLOAT32: return expect_equal("width", width, sizeof(float));
    case TL_FLOAT64: return expect_equal("width", width, sizeof(double));
    case TL_ENCODED:
      if (width < 1 || width > 32)
        throw invalid("width is " + std::to_string(width) + ", expected 1 to 32");
      return;
    default: throw unknown("dtype", dtype);
  }
}

int64_t extent(const char *argument, uint64_t value) {
  if (value > UINT32_MAX)
    throw invalid(std::string(argument) + " is " + std::to_string(value) +
                  ", expected at most 2^32 - 1");
  return static_cast<int64_t>(value);
}

at::Tensor tensor_of(const char *argument, const tl_operand *operand) {
  expect_given(argument, operand);
  check_width(operand->dtype, operand->width);
  const at::ScalarType type = operand->dtype == TL_FLOAT32   ? at::kFloat
                              : operand->dtype == TL_FLOAT64 ? at::kDouble
                                                             : at::kByte;
  if (operand->count == 0)
    return at::empty({0}, at::device(calling_instance->device()).dtype(type));
  expect_given(argument, operand->storage);
  const at::Tensor &tensor = operand->storage->tensor;
  if (tensor.scalar_type() != type)
    throw invalid(std::string(argument) + ".dtype is " + std::to_string(operand->dtype) +
                  ", but its storage holds another");
  const uint64_t words = operand->dtype == TL_ENCODED ? operand->width : 1;
  expect_member(argument, "count", operand->count, static_cast<uint64_t>(tensor.numel()) / words);
  return tensor;
}

at::Tensor native_tensor(const char *argument, const tl_operand *operand) {
  expect_given(argument, operand);
  with_native(operand->dtype, [](auto) {});
  return tensor_of(argument, operand);
}

at::Tensor native_as(const char *argument, const tl_operand *operand, tl_dtype dtype,
                     at::IntArrayRef shape) {
  const at::Tensor tensor = native_tensor(argument, operand);
  expect_member(argument, "dtype", operand->dtype, dtype);
  return shaped(argument, tensor, shape);
}

namespace {

std::unique_ptr<tl_storage> storage_of(at::Tensor result) {
  if (result.numel() == 0) return nullptr;
  if (result.dim() != 1) result = result.contiguous().view(-1);
  return std::make_unique<tl_storage>(std::move(result));
}

}  // namespace

void hand_out(tl_storage **out, at::Tensor result) {
  expect_given("out", out);
  *out = storage_of(std::move(result)).release();
}

void hand_out(tl_storage **out, at::ArrayRef<at::Tensor> results) {
  expect_given("out", out);
  std::vector<std::unique_ptr<tl_storage>> storages;
  storages.reserve(results.size());
  for (const at::Tensor &result : results) storages.push_back(storage_of(result));
  for (auto &storage : storages) *out++ = storage.release();
}

}  // namespace torchlean::libtorch
