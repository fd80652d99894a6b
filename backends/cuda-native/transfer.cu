// Words between host and device. Where the kinds differ the device converts.
#include "arithmetic.cuh"
#include "instance.hpp"
#include "words.cuh"

namespace torchlean::cuda {

namespace {

// Words of both kinds have as many elements, as many as the wider kind's 16 bytes hold.
constexpr size_t converted_at_once = widest_word<double>;

template <class To, class From>
__global__ void convert_kernel(uint64_t items, uint64_t n, To *out, const From *in) {
  for_words<converted_at_once>(items, n, [&]<size_t width>(uint64_t i) {
    const Word<From, width> word = load_word<width>(in, i);
    Word<To, width> converted;
    for (size_t k = 0; k < width; ++k) {
      converted.element[k] = convert<To>(word.element[k]);
    }
    store_word(out, i, converted);
  });
}

bool is_native(tl_dtype dtype) { return dtype == TL_FLOAT32 || dtype == TL_FLOAT64; }

uint32_t native_width(tl_dtype dtype) { return dtype == TL_FLOAT32 ? 4 : 8; }

// Two kinds that words can be transferred between: equal, or both native.
void check_kinds(const char *operation, tl_dtype from, tl_dtype to) {
  if (from != to && !(is_native(from) && is_native(to))) {
    throw Failure(TL_UNSUPPORTED, std::string(operation) + ": no conversion from dtype " +
                                      std::to_string(from) + " to dtype " + std::to_string(to));
  }
}

// A fresh copy of the n native elements at `in`, in the other kind.
Result converted(tl_instance &instance, const char *operation, uint64_t n, const void *in,
                 tl_dtype to) {
  Result result(instance, operation, n, native_width(to));
  if (to == TL_FLOAT32) {
    launch_words<converted_at_once>(*instance.stream, operation, n, &convert_kernel<float, double>,
                                    result.elements<float>(), static_cast<const double *>(in));
  } else {
    launch_words<converted_at_once>(*instance.stream, operation, n, &convert_kernel<double, float>,
                                    result.elements<double>(), static_cast<const float *>(in));
  }
  return result;
}

void upload(tl_instance *instance, const void *words, tl_dtype source, tl_dtype dtype,
            uint32_t width, uint64_t count, tl_flags, tl_storage **out) {
  check_kinds("upload", source, dtype);
  check_width("upload", dtype, width);
  const uint32_t source_width = source == dtype ? width : native_width(source);
  Result received(*instance, "upload", count, source_width);
  device::copy_to_device(*instance->stream, "upload", received.elements<void>(), words,
                         count * source_width);
  *out = source == dtype
             ? received.hand_over()
             : converted(*instance, "upload", count, received.elements<void>(), dtype).hand_over();
}

void download(tl_instance *instance, const tl_operand *x, tl_dtype target, void *words) {
  check_kinds("download", x->dtype, target);
  check_operand("download", "x", *x, x->dtype, x->count);
  device::Stream &stream = *instance->stream;
  if (target == x->dtype) {
    device::copy_to_host(stream, "download", words, elements<void>(*x), x->storage->bytes);
  } else {
    const Result ready = converted(*instance, "download", x->count, elements<void>(*x), target);
    device::copy_to_host(stream, "download", words, ready.elements<void>(),
                         x->count * native_width(target));
  }
}

}  // namespace

const tl_transfer_table transfer_table = {
    .struct_size = sizeof(tl_transfer_table),
    .upload = entry<upload>,
    .download = entry<download>,
};

}  // namespace torchlean::cuda
