// The C API of buffer handles: free, release, size and kind.
#include "buffers/handle.hpp"

#include <new>

#include "buffers/counters.hpp"
#include "buffers/gate.hpp"
#include "status/error.hpp"

namespace torchlean {
namespace {

tl_status released_error(const char *query) {
  return fail(TL_INVALID_ARGUMENT, "{}: the buffer has been released", query);
}

tl_status null_error(const char *query, const char *what) {
  return fail(TL_INVALID_ARGUMENT, "{}: {} is NULL", query, what);
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

void tl_buffer_free(tl_buffer *buffer) {
  if (buffer == nullptr) return;
  // After shutdown, and in a forked child, the backend must not be called: its storage is dropped.
  const GateEntry inside;
  if (inside) {
    // Nobody else may use the handle any more, so a plain read of its state suffices.
    const bool retires = !buffer->is_released();
    if (retires) buffer->give_back();
    if (counters::handle_freed(*buffer, retires)) delete buffer->backend;
  }
  delete buffer;
}

uint32_t tl_buffer_release(tl_buffer *buffer) {
  if (buffer == nullptr) return 0;
  const GateEntry inside;
  if (!inside) return 0;
  const std::uint64_t before =
      buffer->state.fetch_or(tl_buffer::released, std::memory_order_acq_rel);
  if ((before & tl_buffer::released) != 0) return 0;
  if (buffer->count != 0) counters::payload_retired(*buffer);
  if (before == 0) buffer->give_back();
  return buffer->count != 0 ? 1 : 0;
}

uint64_t tl_buffer_size(const tl_buffer *buffer) {
  return buffer == nullptr || buffer->is_released() ? 0 : buffer->count;
}

tl_status tl_buffer_dtype(const tl_buffer *buffer, tl_dtype *out) {
  if (buffer == nullptr || out == nullptr) {
    return null_error("dtype", buffer == nullptr ? "the buffer" : "out");
  }
  if (buffer->is_released()) return released_error("dtype");
  *out = buffer->dtype;
  return TL_OK;
}

tl_status tl_buffer_format(const tl_buffer *buffer, uint32_t *out_is_encoded, tl_format *out) {
  if (buffer == nullptr || out_is_encoded == nullptr || out == nullptr) {
    return null_error("format", buffer == nullptr ? "the buffer" : "a result pointer");
  }
  if (buffer->is_released()) return released_error("format");
  *out_is_encoded = buffer->dtype == TL_ENCODED ? 1 : 0;
  if (buffer->dtype == TL_ENCODED) *out = buffer->format;
  return TL_OK;
}

tl_status tl_buffer_width(const tl_buffer *buffer, uint32_t *out) {
  if (buffer == nullptr || out == nullptr) {
    return null_error("width", buffer == nullptr ? "the buffer" : "out");
  }
  if (buffer->is_released()) return released_error("width");
  *out = buffer->width;
  return TL_OK;
}

}  // extern "C"
