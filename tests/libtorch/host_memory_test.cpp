// Large blocks of host memory: kept when they are freed, for the next result of the same size.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <thread>

using fake_host::backend;

namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

tl_memory_info figures(const Session &session) {
  tl_memory_info info{};
  info.struct_size = sizeof info;
  require_ok(backend().device->memory_info(session.get(), &info));
  return info;
}

uint64_t kept(const Session &session) {
  const tl_memory_info info = figures(session);
  return info.reserved_bytes - info.allocated_bytes;
}

tl_storage *filled(const Session &session, uint64_t bytes, float value = 1) {
  tl_storage *out = nullptr;
  require_ok(backend().memory->fill(session.get(), TL_FLOAT32, 4, bytes / 4, value, 0, &out));
  return out;
}

void release(const Session &session, tl_storage *storage) {
  backend().memory->release(session.get(), storage);
}

void empty_cache(const Session &session) {
  require_ok(backend().device->empty_cache(session.get()));
}

}  // namespace

TEST_CASE("a block that was freed serves the next result of its size, and no other") {
  const Session session;
  empty_cache(session);
  const uint64_t allocated = figures(session).allocated_bytes;
  release(session, filled(session, 2 * mebibyte));
  CHECK(figures(session).allocated_bytes == allocated);
  CHECK(kept(session) == 2 * mebibyte);

  const int64_t before = fake_host::allocations();
  const Buffer again(session, filled(session, 2 * mebibyte, 7), mebibyte / 2, TL_FLOAT32, 4);
  CHECK(fake_host::allocations() == before);
  CHECK(kept(session) == 0);
  CHECK(figures(session).allocated_bytes == allocated + 2 * mebibyte);
  CHECK(again.values<float>() == std::vector<float>(mebibyte / 2, 7));

  release(session, filled(session, 3 * mebibyte));
  const int64_t later = fake_host::allocations();
  release(session, filled(session, 2 * mebibyte));
  CHECK(fake_host::allocations() == later + 1);
}

TEST_CASE("emptying the cache gives every kept block back") {
  const Session session;
  empty_cache(session);
  const int64_t live = fake_host::live_blocks();
  for (const uint64_t size : {1, 2, 3}) release(session, filled(session, size * mebibyte));
  CHECK(fake_host::live_blocks() == live + 3);
  CHECK(kept(session) == 6 * mebibyte);
  CHECK(figures(session).peak_reserved_bytes >= figures(session).reserved_bytes);
  empty_cache(session);
  CHECK(fake_host::live_blocks() == live);
  CHECK(kept(session) == 0);
}

TEST_CASE(
    "no more than the limit is kept: the oldest blocks go first, small and huge ones at once") {
  const Session session;
  empty_cache(session);
  for (uint64_t size = 1; size <= 14; ++size) release(session, filled(session, size * mebibyte));
  CHECK(kept(session) == (10 + 11 + 12 + 13 + 14) * mebibyte);  // not 9 to 14, which are 69
  release(session, filled(session, 65 * mebibyte));
  release(session, filled(session, mebibyte / 8 - 4));
  CHECK(kept(session) == (10 + 11 + 12 + 13 + 14) * mebibyte);
  empty_cache(session);
}

TEST_CASE("kept blocks never stand between a result and its memory") {
  const Session session;
  empty_cache(session);
  release(session, filled(session, 2 * mebibyte));
  fake_host::fail_allocation(1, false);
  release(session, filled(session, mebibyte));  // the second attempt, after the block went back
  fake_host::fail_allocation(0, false);
  CHECK(kept(session) == mebibyte);

  const uint64_t allocated = figures(session).allocated_bytes;
  fake_host::fail_allocation(1, true);
  tl_storage *out = nullptr;
  CHECK(backend().memory->fill(session.get(), TL_FLOAT32, 4, mebibyte, 1, 0, &out) ==
        TL_OUT_OF_MEMORY);
  CHECK(fake_host::error().find("4194304 bytes were asked for") != std::string::npos);
  fake_host::fail_allocation(0, false);
  CHECK(out == nullptr);
  CHECK(figures(session).allocated_bytes == allocated);
  release(session, filled(session, 4 * mebibyte));
  empty_cache(session);
}

TEST_CASE("10,000 operations with releases leave the allocated bytes where they began") {
  const Session session;
  const Buffer large(session, std::vector<float>(300'000, 1));
  const Buffer small(session, std::vector<float>(10, 1));
  const uint64_t allocated = figures(session).allocated_bytes;
  const int64_t live = fake_host::live_blocks();
  for (int i = 0; i < 10'000; ++i) {
    const Buffer &x = i % 100 == 0 ? large : small;
    tl_storage *out = nullptr;
    const tl_scalars scalars{sizeof(tl_scalars), {2, 0}};
    require_ok(backend().elementwise->unary(
        session.get(), i % 2 == 0 ? TL_UNARY_SCALE : TL_UNARY_EXP, x.operand(), &scalars, 0, &out));
    release(session, out);
  }
  CHECK(figures(session).allocated_bytes == allocated);
  empty_cache(session);
  CHECK(fake_host::live_blocks() <= live);
  CHECK(fake_host::broken_fences() == 0);
}

TEST_CASE("many threads take and free large blocks at once") {
  const Session session;
  empty_cache(session);
  const uint64_t allocated = figures(session).allocated_bytes;
  std::vector<std::thread> threads;
  for (uint64_t t = 1; t <= 4; ++t)
    threads.emplace_back([&session, t] {
      for (uint64_t i = 0; i < 20; ++i)
        release(session, filled(session, ((i + t) % 3 + 1) * mebibyte));
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(figures(session).allocated_bytes == allocated);
  CHECK(kept(session) <= 64 * mebibyte);
  empty_cache(session);
  CHECK(fake_host::broken_fences() == 0);
}
