// Words between the caller's memory and storages.
#include "composed.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {
namespace {

// Caller's words may lie at any address; ours are aligned.
template <class To, class From>
void convert(void *target, const void *source, int64_t count) {
  auto *const to = static_cast<std::byte *>(target);
  const auto *const from = static_cast<const std::byte *>(source);
  each(count, [=](int64_t i) {
    From word;
    std::memcpy(&word, from + i * static_cast<int64_t>(sizeof(From)), sizeof(From));
    const To converted = static_cast<To>(word);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(To)), &converted, sizeof(To));
  });
}

void copy_bytes(void *target, const void *source, int64_t bytes) {
  at::parallel_for(0, bytes, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte *>(target) + begin,
                static_cast<const std::byte *>(source) + begin, static_cast<size_t>(end - begin));
  });
}

// `count` words of kind `from` at `source` become words of kind `to` at `target`.
void transfer(void *target, tl_dtype to, const void *source, tl_dtype from, uint32_t width,
              int64_t count) {
  if (to == from) {
    copy_bytes(target, source, count * width);
  } else if (to == TL_FLOAT32) {
    convert<float, double>(target, source, count);
  } else {
    convert<double, float>(target, source, count);
  }
}

void check_kind(const char *argument, tl_dtype dtype) {
  if (dtype >= TL_DTYPE_COUNT) throw unknown(argument, dtype);
}

void check_conversion(tl_dtype to, tl_dtype from) {
  if (to != from && (to == TL_ENCODED || from == TL_ENCODED))
    throw invalid("dtype is " + std::to_string(to) + " for words of kind " + std::to_string(from) +
                  "; encoded words are not converted");
}

void upload(tl_instance &instance, const void *words, tl_dtype source, tl_dtype dtype,
            uint32_t width, uint64_t count, tl_flags, tl_storage **out) {
  expect_given("words", words);
  check_kind("source", source);
  check_width(dtype, width);
  const int64_t n = extent("count", count);
  check_conversion(dtype, source);
  if (instance.composed)
    return hand_out(out, composed::upload(instance.device(), words, source, dtype, width, n));
  const at::Tensor result = dtype == TL_ENCODED   ? empty(n * width, at::kByte)
                            : dtype == TL_FLOAT32 ? empty(n, at::kFloat)
                                                  : empty(n, at::kDouble);
  transfer(result.mutable_data_ptr(), dtype, words, source, width, n);
  hand_out(out, result);
}

void download(tl_instance &instance, const tl_operand *x, tl_dtype target, void *words) {
  expect_given("words", words);
  check_kind("target", target);
  const at::Tensor tensor = tensor_of("x", x);
  check_conversion(target, x->dtype);
  if (instance.composed) return composed::download(tensor, target, words);
  transfer(words, target, tensor.const_data_ptr(), x->dtype, x->width,
           static_cast<int64_t>(x->count));
}

}  // namespace

const tl_transfer_table transfer_table = {
    .struct_size = sizeof(tl_transfer_table),
    .upload = entry<"upload", upload>,
    .download = entry<"download", download>,
};

}  // namespace torchlean::libtorch
