// Words between the host's memory and storages, converted where the kinds differ.
#include "reference.hpp"

namespace torchlean::reference {
namespace {

// to[i] = from[i], rounded to nearest even or widened. The host's side may lie at any address.
template <class From, class To>
void convert(const void *from, void *to, uint64_t count) {
  const auto *source = static_cast<const std::byte *>(from);
  auto *target = static_cast<std::byte *>(to);
  for (uint64_t i = 0; i < count; ++i) {
    From word;
    std::memcpy(&word, source + i * sizeof word, sizeof word);
    const To converted = static_cast<To>(word);
    std::memcpy(target + i * sizeof converted, &converted, sizeof converted);
  }
}

// Moves `count` words; those of one kind, encoded ones of `width` bytes too, keep every bit.
void move_words(const void *from, tl_dtype source, void *to, tl_dtype target, uint32_t width,
                uint64_t count) {
  if (source == target)
    std::memcpy(to, from, count * width);
  else if (source == TL_FLOAT32 && target == TL_FLOAT64)
    convert<float, double>(from, to, count);
  else if (source == TL_FLOAT64 && target == TL_FLOAT32)
    convert<double, float>(from, to, count);
  else if (source < TL_DTYPE_COUNT && target < TL_DTYPE_COUNT)
    throw invalid("encoded words are not converted to another kind, nor others to them");
  else
    throw unknown("dtype", std::max(source, target));
}

void upload(tl_instance &instance, const void *words, tl_dtype source, tl_dtype dtype,
            uint32_t width, uint64_t count, tl_flags, tl_storage **out) {
  expect_given("words", words);
  check_width(dtype, width);
  check_count(count);
  Result<std::byte> y(instance, count * width);
  move_words(words, source, y.begin(), dtype, width, count);
  hand_out(out, y);
}

void download(tl_instance &, const tl_operand *x, tl_dtype target, void *words) {
  const auto bytes = bytes_of("x", x);
  expect_given("words", words);
  move_words(bytes.data(), x->dtype, words, target, x->width, x->count);
}

}  // namespace

const tl_transfer_table transfer_table = {
    .struct_size = sizeof(tl_transfer_table),
    .upload = entry<"upload", upload>,
    .download = entry<"download", download>,
};

}  // namespace torchlean::reference
