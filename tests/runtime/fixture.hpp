// What the tests of the C API share: buffers that free themselves, calls that must be refused.
#pragma once

#include <doctest/doctest.h>
#include <torchlean/runtime.h>

#include <cstdint>
#include <string>

// A buffer of the test's own.
struct Owned {
  tl_buffer *buffer = nullptr;
  ~Owned() { tl_buffer_free(buffer); }
};

inline Owned zeros(std::uint64_t count, tl_dtype dtype = TL_FLOAT32) {
  Owned owned;
  REQUIRE(tl_zeros(count, dtype, &owned.buffer) == TL_OK);
  return owned;
}

inline tl_counters counters() {
  tl_counters now = {};
  now.struct_size = sizeof now;
  REQUIRE(tl_get_counters(&now) == TL_OK);
  return now;
}

// The call is refused as `status`, says `text`, writes no result and changes no counter.
template <class Function>
void refused(const Function &call, const std::string &text,
             tl_status status = TL_INVALID_ARGUMENT) {
  const tl_counters before = counters();
  auto *const untouched = reinterpret_cast<tl_buffer *>(&refused<Function>);
  tl_buffer *out = untouched;
  const tl_status got = call(&out);
  CHECK(got == status);
  CHECK(std::string(tl_last_error()) == text);
  CHECK(out == untouched);
  const tl_counters after = counters();
  CHECK(after.created_buffers == before.created_buffers);
  CHECK(after.live_bytes == before.live_bytes);
}
