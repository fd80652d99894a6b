// Many threads on one runtime: starting once, exact counters, releases under way (rules L12, P6).
#include <doctest/doctest.h>
#include <torchlean/runtime.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace {

// All begin together.
void in_threads(int count, const auto &work) {
  std::latch begin(count);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread &thread : threads) thread.join();
}

tl_counters counters() {
  tl_counters now = {};
  now.struct_size = sizeof now;
  tl_get_counters(&now);
  return now;
}

}  // namespace

TEST_CASE("L12: starting from many threads at once starts once") {
  std::atomic<int> started{0};
  in_threads(8, [&](int) { started += tl_start() == TL_OK ? 1 : 0; });
  CHECK(started == 8);
  std::size_t serving = 0;
  for (std::size_t i = 0; i < tl_attempt_count(); ++i) {
    tl_attempt attempt = {};
    attempt.struct_size = sizeof attempt;
    tl_get_attempt(i, &attempt);
    serving += attempt.is_serving;
  }
  CHECK(serving == 1);
}

TEST_CASE("P6: counters are exact under concurrent use") {
  const tl_counters before = counters();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int rounds = 2000;  // each takes ten times as long, and a race shows at once
#else
  constexpr int rounds = 400000;
#endif
  in_threads(4, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      tl_buffer *x = nullptr;
      if (tl_zeros(8, TL_FLOAT32, &x) != TL_OK) return;
      if (i % 2 == 0) tl_buffer_release(x);
      tl_buffer_free(x);
    }
  });
  const tl_counters after = counters();
  CHECK(after.created_buffers - before.created_buffers == 4 * rounds);
  CHECK(after.retired_buffers - before.retired_buffers == 4 * rounds);
  CHECK(after.created_bytes - before.created_bytes == std::uint64_t{4} * rounds * 32);
  CHECK(after.live_bytes == before.live_bytes);
  CHECK(after.peak_bytes <= before.peak_bytes + 4 * 32 + before.live_bytes);
}

TEST_CASE("P6: live is created minus retired in every snapshot") {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop) {
      const tl_counters now = counters();
      if (now.live_bytes != now.created_bytes - now.retired_bytes ||
          now.live_buffers != now.created_buffers - now.retired_buffers ||
          now.peak_bytes < now.live_bytes) {
        ++wrong;
      }
    }
  });
  in_threads(2, [](int) {
    for (int i = 0; i < 2000; ++i) {
      tl_buffer *x = nullptr;
      if (tl_zeros(3, TL_FLOAT64, &x) == TL_OK) tl_buffer_free(x);
    }
  });
  stop = true;
  reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("a release during an operation is safe: the result is right or the buffer is refused") {
  for (int round = 0; round < 300; ++round) {
    tl_buffer *x = nullptr;
    REQUIRE(tl_full(512, 2.0, TL_FLOAT32, &x) == TL_OK);
    std::atomic<int> wrong{0};
    std::atomic<int> retired{0};
    in_threads(3, [&](int thread) {
      if (thread == 0) {
        retired += static_cast<int>(tl_buffer_release(x));
        return;
      }
      tl_buffer *y = nullptr;
      if (tl_binary(TL_BINARY_ADD, x, x, &y) != TL_OK) return;
      std::vector<float> words(512);
      if (tl_download(y, TL_FLOAT32, words.data(), words.size() * 4) != TL_OK) ++wrong;
      for (const float word : words) wrong += word == 4.0F ? 0 : 1;
      tl_buffer_free(y);
    });
    CHECK(wrong == 0);
    CHECK(retired == 1);
    tl_buffer_free(x);
  }
}
