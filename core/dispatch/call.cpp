// The frame of an operation: gate, pins, common checks, results.
#include "dispatch/call.hpp"

#include <new>

#include "buffers/counters.hpp"
#include "buffers/gate.hpp"
#include "buffers/memory_report.hpp"
#include "selection/runtime.hpp"

namespace torchlean {

const char *dtype_name(tl_dtype dtype) noexcept {
  switch (dtype) {
    case TL_FLOAT32: return "float32";
    case TL_FLOAT64: return "float64";
    case TL_ENCODED: return "encoded";
    default: return "unknown dtype";
  }
}

bool same_format(const tl_format &a, const tl_format &b) noexcept {
  return a.exponent_bits == b.exponent_bits && a.fraction_bits == b.fraction_bits &&
         a.exponent_bias == b.exponent_bias && a.encoding == b.encoding;
}

Call::Call(tl_operation operation) noexcept
    : operation_(operation), is_inside_(gate().enter()), thread_(thread_state()) {
  if (is_inside_) {
    thread_.error_is_fresh = false;
    thread_.operation = operation;
    thread_.result_bytes = 0;
  } else {
    status_ = gate().refusal(name());
  }
}

Call::~Call() {
  for (std::size_t i = 0; i < input_count_; ++i) inputs_[i]->unpin();
  thread_.operation = TL_OP_COUNT;
  if (is_inside_) gate().leave();
}

tl_status Call::explain(fmt::string_view format, fmt::format_args arguments) noexcept {
  char text[1024];
  std::size_t length = 0;
  try {
    length = fmt::vformat_to_n(text, sizeof text, format, arguments).size;
  } catch (...) {
    length = 0;
  }
  return fail(status_, "{}: {}", name(),
              std::string_view(text, length < sizeof text ? length : sizeof text));
}

const tl_operand *Call::native(const char *argument, const tl_buffer *buffer) noexcept {
  return pin(argument, buffer, false);
}

const tl_operand *Call::any(const char *argument, const tl_buffer *buffer) noexcept {
  return pin(argument, buffer, true);
}

const tl_operand *Call::pin(const char *argument, const tl_buffer *buffer,
                            bool allows_encoded) noexcept {
  if (failed()) return nullptr;
  if (buffer == nullptr) {
    refuse(TL_INVALID_ARGUMENT, "{} is NULL", argument);
    return nullptr;
  }
  auto *pinned = const_cast<tl_buffer *>(buffer);  // only its state word changes
  if (!pinned->pin()) {
    refuse(TL_INVALID_ARGUMENT, "{}: the buffer has been released", argument);
    return nullptr;
  }
  inputs_[input_count_] = pinned;
  tl_operand &operand = operands_[input_count_++];
  operand = {buffer->storage, buffer->count, buffer->dtype, buffer->width};
  if (buffer->dtype == TL_ENCODED && !allows_encoded) {
    refuse(TL_INVALID_ARGUMENT, "{} is encoded, expected float32 or float64", argument);
    return nullptr;
  }
  if (width_ == 0) {
    dtype_ = buffer->dtype;
    width_ = buffer->width;
    format_ = buffer->format;
  } else if (buffer->dtype != dtype_) {
    refuse(TL_INVALID_ARGUMENT, "{} is {}, expected {} as the first operand", argument,
           dtype_name(buffer->dtype), dtype_name(dtype_));
    return nullptr;
  } else if (dtype_ == TL_ENCODED && !same_format(buffer->format, format_)) {
    refuse(TL_INVALID_ARGUMENT, "{} has another encoded format than the first operand", argument);
    return nullptr;
  }
  return take_backend_of(*buffer) ? &operand : nullptr;
}

bool Call::take_backend_of(const tl_buffer &buffer) noexcept {
  if (backend_ == nullptr) {
    backend_ = buffer.backend;
  } else if (backend_ != buffer.backend) {
    refuse(TL_INVALID_ARGUMENT, "operands live on two backends, {} and {}", backend_->name,
           buffer.backend->name);
    return false;
  }
  return true;
}

void Call::create(tl_dtype dtype) noexcept {
  check_native("dtype", dtype);
  if (failed()) return;
  dtype_ = dtype;
  width_ = native_width(dtype);
  backend_ = current_backend(name());
  if (backend_ == nullptr) status_ = TL_UNAVAILABLE;
}

void Call::create_encoded(const tl_format &format, std::uint32_t width) noexcept {
  create(TL_FLOAT64);
  if (failed()) return;
  dtype_ = TL_ENCODED;
  width_ = width;
  format_ = format;
}

void Call::check_native(const char *argument, tl_dtype dtype) noexcept {
  if (failed() || dtype == TL_FLOAT32 || dtype == TL_FLOAT64) return;
  refuse(TL_INVALID_ARGUMENT, "{} is {} ({}), expected float32 (0) or float64 (1)", argument, dtype,
         dtype_name(dtype));
}

void Call::check_count(const char *argument, const tl_operand *operand, std::uint64_t expected,
                       const char *expectation) noexcept {
  if (failed() || operand->count == expected) return;
  refuse(TL_INVALID_ARGUMENT, "{} has {} elements, expected {} = {}", argument, operand->count,
         expectation, expected);
}

void Call::check_same_count(const char *argument, const tl_operand *operand,
                            const tl_operand *first) noexcept {
  if (failed() || operand->count == first->count) return;
  refuse(TL_INVALID_ARGUMENT, "{} has {} elements, expected {} as the first operand", argument,
         operand->count, first->count);
}

void Call::check_flag(const char *argument, std::uint32_t flag) noexcept {
  if (flag > 1) refuse(TL_INVALID_ARGUMENT, "{} is {}, expected 0 or 1", argument, flag);
}

void Call::check_positive(const char *argument, std::uint64_t value) noexcept {
  if (value == 0) refuse(TL_INVALID_ARGUMENT, "{} is 0, expected at least 1", argument);
}

std::uint64_t Call::product(const char *argument, std::span<const std::uint64_t> dims) noexcept {
  if (failed()) return 0;
  std::uint64_t total = 1;
  bool overflows = false;
  for (const std::uint64_t dim : dims) {
    if (dim == 0) return 0;
    overflows = overflows || __builtin_mul_overflow(total, dim, &total);
  }
  if (overflows) {
    refuse(TL_INVALID_ARGUMENT, "the product of {} does not fit 64 bits", argument);
    return 0;
  }
  return total;
}

std::span<const std::uint64_t> Call::list(const char *argument, const std::uint64_t *values,
                                          std::size_t length) noexcept {
  if (failed()) return {};
  if (length > largest_rank) {
    refuse(TL_INVALID_ARGUMENT, "{} has {} entries, expected at most {}", argument, length,
           largest_rank);
    return {};
  }
  if (values == nullptr && length != 0) {
    refuse(TL_INVALID_ARGUMENT, "{} is NULL, expected {} entries", argument, length);
    return {};
  }
  return {values, length};
}

bool Call::prepare(std::span<tl_buffer **const> out, std::span<const std::uint64_t> counts,
                   std::span<tl_buffer *> handles) noexcept {
  if (failed()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == nullptr) refuse(TL_INVALID_ARGUMENT, "out is NULL");
    if (counts[i] > largest_count) {
      refuse(TL_INVALID_ARGUMENT, "the result would have {} elements, at most {} are possible",
             counts[i], largest_count);
    }
  }
  if (backend_->is_closed) {
    refuse(TL_UNAVAILABLE, "the backend {} of this buffer has been closed", backend_->name);
  }
  if (failed()) return false;
  // Before the kernel runs: afterwards nothing may fail but the kernel itself.
  for (std::size_t i = 0; i < handles.size(); ++i) {
    handles[i] = new (std::nothrow) tl_buffer;
    if (handles[i] == nullptr) {
      for (tl_buffer *made : handles) delete made;
      memory_report::write(name(), thread_.result_bytes);
      refuse(TL_OUT_OF_MEMORY, "host memory is exhausted");
      return false;
    }
    handles[i]->backend = backend_;
    handles[i]->operation = operation_;
    handles[i]->count = counts[i];
    handles[i]->dtype = dtype_;
    handles[i]->width = width_;
    handles[i]->format = format_;
    thread_.result_bytes += handles[i]->bytes();
  }
  return true;
}

tl_status Call::complete(tl_status status, std::span<tl_buffer **const> out,
                         std::span<tl_buffer *const> handles,
                         std::span<tl_storage *const> storages) noexcept {
  if (status == TL_OK && is_synchronous()) {
    status = backend_->device.synchronize(backend_->instance);
    for (tl_storage *storage : storages) {
      if (status != TL_OK && storage != nullptr) {
        backend_->memory.release(backend_->instance, storage);
      }
    }
  }
  if (status == TL_OK) {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if ((storages[i] != nullptr) == (handles[i]->count != 0)) continue;
      // Nothing of it can be trusted; what it made stays with it.
      status = fail(TL_INTERNAL, "it answered ok without a result, or with one that is too many");
    }
  }
  if (status != TL_OK) {
    for (tl_buffer *handle : handles) delete handle;
    return finish(status);
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    handles[i]->storage = storages[i];
    counters::handle_made(*handles[i]);
    *out[i] = handles[i];
  }
  return TL_OK;
}

tl_status Call::fill_all(std::span<const std::uint64_t> counts, double value,
                         tl_storage **storages) noexcept {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const tl_status status = backend_->memory.fill(backend_->instance, dtype_, width_, counts[i],
                                                   value, 0, &storages[i]);
    if (status == TL_OK) continue;
    for (std::size_t made = 0; made < i; ++made) {
      if (storages[made] != nullptr) backend_->memory.release(backend_->instance, storages[made]);
    }
    return status;
  }
  return TL_OK;
}

tl_status Call::finish(tl_status status) noexcept {
  if (failed() || status == TL_OK) return status_;
  status_ = status;
  if (status == TL_DEVICE_LOST) backend_->is_lost.store(true, std::memory_order_relaxed);
  if (status == TL_OUT_OF_MEMORY) memory_report::write(name(), thread_.result_bytes);
  if (backend_->is_null) return fail(status, "{}: {}", name(), thread_.error_text);
  if (thread_.error_is_fresh) {
    return fail(status, "{}: {} (backend {})", name(), thread_.error_text, backend_->name);
  }
  if (status == TL_UNSUPPORTED) {
    return fail(
        status,
        "{}: the backend {} does not have this operation for {}; `torchlean ops` shows which "
        "backends do",
        name(), backend_->name, dtype_name(dtype_));
  }
  return fail(status, "{}: {} (backend {}, which gave no reason)", name(), status_name(status),
              backend_->name);
}

tl_status Call::refusal_of_null_backend() noexcept {
  if (!backend_->is_null) return TL_OK;
  // Without a backend every operation fails, those with empty results too.
  tl_storage *storage = nullptr;
  return backend_->memory.fill(backend_->instance, dtype_, width_, 0, 0.0, 0, &storage);
}

}  // namespace torchlean
