// Transfer family: words between host and backend, native and encoded.

#include "dispatch/call.hpp"

namespace torchlean {
namespace {

constexpr std::uint64_t largest_bias = std::uint64_t{1} << 62U;

// Bits of a word; 0 for a format outside the limits of types.h.
std::uint64_t format_bits(const tl_format &format) {
  const bool is_valid = format.exponent_bits >= 2 && format.exponent_bits <= 32 &&
                        format.fraction_bits >= 1 && format.fraction_bits <= 255 &&
                        format.exponent_bias < largest_bias && format.encoding < TL_ENCODING_COUNT;
  const std::uint64_t bits = 1 + format.exponent_bits + format.fraction_bits;
  return is_valid && bits <= 256 ? bits : 0;
}

std::uint32_t format_bytes(const tl_format &format) {
  return static_cast<std::uint32_t>((format_bits(format) + 7) / 8);
}

// Index of the first word whose bits above the format are not zero; `count` if there is none.
std::uint64_t first_stray_word(const unsigned char *words, std::uint64_t count, std::uint32_t width,
                               std::uint64_t bits) {
  const std::uint64_t used =
      bits - 8 * (width - std::uint64_t{1});  // bits of the last byte, 1 to 8
  const unsigned unused_mask = 0xFFU & ~((1U << used) - 1U);
  for (std::uint64_t i = 0; unused_mask != 0 && i < count; ++i) {
    if ((words[i * width + width - 1] & unused_mask) != 0) return i;
  }
  return count;
}

// The number of words in `bytes`; refuses a remainder and missing memory.
std::uint64_t word_count(Call &call, const void *words, std::uint64_t bytes, std::uint64_t width) {
  if (call.failed()) return 0;
  if (words == nullptr && bytes != 0) {
    call.refuse(TL_INVALID_ARGUMENT, "words is NULL, expected {} bytes", bytes);
  } else if (bytes % width != 0) {
    call.refuse(TL_INVALID_ARGUMENT,
                "the payload has {} bytes, expected a multiple of the word width {}", bytes, width);
  }
  return bytes / width;
}

tl_status upload(Call &call, const void *words, std::uint64_t count, tl_dtype source,
                 tl_dtype dtype, std::uint32_t width, tl_buffer **out) {
  return call.result(out, count, [&](Backend &backend, tl_storage **storage) {
    return backend.transfer.upload(backend.instance, words, source, dtype, width, count, 0,
                                   storage);
  });
}

tl_status download(Call &call, const tl_operand &operand, tl_dtype target, std::uint64_t width,
                   void *words, std::uint64_t bytes) {
  if (bytes != operand.count * width) {
    return call.refuse(TL_INVALID_ARGUMENT, "the target has {} bytes, expected {} words of {} = {}",
                       bytes, operand.count, width, operand.count * width);
  }
  if (operand.count == 0) return TL_OK;
  if (words == nullptr) {
    return call.refuse(TL_INVALID_ARGUMENT, "words is NULL, expected room for {} bytes", bytes);
  }
  Backend &backend = call.backend();
  return call.finish(backend.transfer.download(backend.instance, &operand, target, words));
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_format_width(const tl_format *format, uint32_t *out) {
  if (format == nullptr || out == nullptr) {
    return fail(TL_INVALID_ARGUMENT, "format_width: {} is NULL", out == nullptr ? "out" : "format");
  }
  if (format_bits(*format) == 0) {
    return fail(
        TL_INVALID_ARGUMENT,
        "format_width: a format of {} exponent bits, {} fraction bits, bias {}, encoding {} is "
        "not possible; expected 2 to 32 exponent bits, 1 or more fraction bits, at most 256 "
        "bits in all, a bias below 2^62, an encoding of 0 to 3",
        format->exponent_bits, format->fraction_bits, format->exponent_bias, format->encoding);
  }
  *out = format_bytes(*format);
  return TL_OK;
}

tl_status tl_upload(const void *words, uint64_t bytes, tl_dtype source, tl_dtype dtype,
                    tl_buffer **out) {
  Call call(TL_OP_upload);
  call.check_native("source", source);
  call.create(dtype);
  const std::uint64_t count = word_count(call, words, bytes, native_width(source));
  return upload(call, words, count, source, dtype, native_width(dtype), out);
}

tl_status tl_download(const tl_buffer *x, tl_dtype target, void *words, uint64_t bytes) {
  Call call(TL_OP_download);
  const tl_operand *operand = call.native("x", x);
  call.check_native("target", target);
  if (call.failed()) return call.status();
  return download(call, *operand, target, native_width(target), words, bytes);
}

tl_status tl_upload_encoded(const void *words, uint64_t bytes, const tl_format *format,
                            uint64_t width, tl_buffer **out) {
  Call call(TL_OP_upload_encoded);
  std::uint32_t expected = 0;
  if (call.failed()) return call.status();
  if (tl_format_width(format, &expected) != TL_OK) {
    return call.refuse(TL_INVALID_ARGUMENT, "{}", thread_state().error_text);
  }
  if (width != expected) {
    return call.refuse(TL_INVALID_ARGUMENT, "the word width is {}, expected {} for {} bits", width,
                       expected, format_bits(*format));
  }
  call.create_encoded(*format, expected);
  const std::uint64_t count = word_count(call, words, bytes, width);
  if (call.failed()) return call.status();
  const std::uint64_t stray = first_stray_word(static_cast<const unsigned char *>(words), count,
                                               expected, format_bits(*format));
  if (stray < count) {
    return call.refuse(TL_INVALID_ARGUMENT,
                       "word {} has bits above the {} of its format, expected zeros there", stray,
                       format_bits(*format));
  }
  return upload(call, words, count, TL_ENCODED, TL_ENCODED, expected, out);
}

tl_status tl_download_encoded(const tl_buffer *x, void *words, uint64_t bytes) {
  Call call(TL_OP_download_encoded);
  const tl_operand *operand = call.any("x", x);
  if (call.failed()) return call.status();
  if (operand->dtype != TL_ENCODED) {
    return call.refuse(TL_INVALID_ARGUMENT, "x is {}, expected an encoded buffer",
                       dtype_name(operand->dtype));
  }
  return download(call, *operand, TL_ENCODED, operand->width, words, bytes);
}

}  // extern "C"
