// Random calls, errors and releases on eight threads, on every host backend of the process at once:
// nothing crashes, nothing leaks, results are right and counters exact (rules B3, P6).
// TL_TEST_LONG=1: an hour of it instead of some seconds.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "process/stress.hpp"
#include "support/listed.hpp"

using stress::below;
using stress::Item;
using stress::Random;
using Clock = std::chrono::steady_clock;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double short_run = 4;
#else
constexpr double short_run = 17;
#endif

double seconds() { return std::getenv("TL_TEST_LONG") != nullptr ? 3600 : short_run; }

struct Home {
  std::string path;
  std::string device;
  tl_backend *backend = nullptr;

  bool has(tl_operation operation, tl_dtype dtype) const {
    return tl_supports(backend, operation, dtype) == TL_OK;
  }
  tl_status open(tl_backend **out) const {
    return tl_backend_open(path.c_str(), device.c_str(), out);
  }
};

// What all threads share.
struct World {
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Item> item;
  };

  std::vector<Home> homes;
  std::array<Slot, 64> slots;
  std::atomic<std::uint64_t> created_buffers{0};
  std::atomic<std::uint64_t> created_bytes{0};
  std::atomic<std::uint64_t> released{0};       // nonempty items, by one thread or more
  std::atomic<std::uint64_t> retired_early{0};  // what those releases say that they retired
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> out_of_memory{0};
  std::atomic<bool> round_is_over{false};

  std::shared_ptr<const Item> take(std::size_t index) {
    const std::lock_guard guard(slots[index].mutex);
    return slots[index].item;
  }
  void put(std::size_t index, std::shared_ptr<const Item> item) {
    const std::lock_guard guard(slots[index].mutex);
    slots[index].item.swap(item);
  }

  void fault(const std::string &text) {
    const std::lock_guard guard(mutex_);
    if (faults_.size() < 2000) faults_ += text + "\n";
  }
  const std::string &faults() const { return faults_; }

 private:
  std::mutex mutex_;
  std::string faults_;
};

tl_counters counters() {
  tl_counters now = {};
  now.struct_size = sizeof now;
  tl_get_counters(&now);
  return now;
}

class Worker {
 public:
  Worker(World &world, unsigned seed) : world_(world), random_(seed) {}

  void run() {
    while (!world_.round_is_over.load(std::memory_order_relaxed)) {
      const std::uint64_t what = below(random_, 10000);
      ++world_.calls;
      if (what < 2000) {
        make();
      } else if (what < 6500) {
        operate();
      } else if (what < 7800) {
        look();
      } else if (what < 8600) {
        release();
      } else if (what < 9000) {
        world_.put(any_slot(), nullptr);
      } else if (what < 9900) {
        call_wrongly();
      } else if (what < 9998) {
        ask();
      } else {
        open_one_more();
      }
    }
  }

 private:
  std::size_t any_slot() { return below(random_, world_.slots.size()); }

  std::uint64_t any_count() {
    switch (below(random_, 20)) {
      case 0: return 0;
      case 1:
      case 2: return 1;
      case 3: return 1000 + below(random_, 4000);
      case 4: return below(random_, 20) == 0 ? 70000 : 64;
      default: return 2 + below(random_, 300);
    }
  }

  // A right call: it succeeds; memory may run out, since allocations fail on purpose; and operands
  // may be found released where another thread does that.
  bool succeeded(const char *what, tl_status status, std::initializer_list<const Item *> operands) {
    if (status == TL_OK) return true;
    bool may_be_released = false;
    for (const Item *operand : operands) may_be_released |= operand->may_be_released.load();
    const std::string text = tl_last_error();
    if (status == TL_OUT_OF_MEMORY) {
      ++world_.out_of_memory;
    } else if (may_be_released && text.find("has been released") != text.npos) {
      ++world_.refused;
    } else {
      world_.fault(std::string(what) + " failed: " + text);
    }
    return false;
  }

  // Takes over what a call has made.
  void keep(std::size_t home, tl_dtype dtype, std::uint64_t count, double value, tl_buffer *made) {
    auto item = std::make_shared<Item>();
    item->handle = made;
    item->home = home;
    item->dtype = dtype;
    item->count = count;
    item->value = value;
    if (tl_buffer_size(made) != count) world_.fault("a result has another size than expected");
    if (count != 0) {
      ++world_.created_buffers;
      world_.created_bytes += item->bytes();
    }
    world_.put(any_slot(), std::move(item));
  }

  void make() {
    const std::size_t home = below(random_, world_.homes.size());
    const tl_dtype dtype = below(random_, 2) == 0 ? TL_FLOAT32 : TL_FLOAT64;
    const std::uint64_t count = any_count();
    const double value = static_cast<double>(below(random_, 17)) - 8;
    tl_set_thread_backend(world_.homes[home].backend);
    tl_buffer *made = nullptr;
    tl_status status = TL_OK;
    if (below(random_, 2) == 0) {
      status = tl_full(count, value, dtype, &made);
    } else {
      const std::vector<double> words(count, value);
      status = tl_upload(words.data(), count * sizeof(double), TL_FLOAT64, dtype, &made);
    }
    tl_set_thread_backend(nullptr);
    if (succeeded("making a buffer", status, {})) keep(home, dtype, count, value, made);
  }

  void operate() {
    const auto x = world_.take(any_slot());
    if (x == nullptr) return;
    auto y = world_.take(any_slot());
    if (y == nullptr || y->home != x->home || y->dtype != x->dtype || y->count != x->count) y = x;
    const stress::Operation &row =
        stress::operations()[below(random_, stress::operations().size())];
    const double value = row.value(*x, *y);
    const std::uint64_t count = row.count(*x);
    if (std::fabs(value) > 1 << 20 || count > 100000) return;  // not exact, too large
    tl_buffer *out[2] = {};
    const tl_status status = row.call(*x, *y, out);
    if (status == TL_UNSUPPORTED && !world_.homes[x->home].has(row.id, x->dtype)) {
      ++world_.refused;
      return;
    }
    if (!succeeded("an operation", status, {x.get(), y.get()})) {
      if (out[0] != nullptr || out[1] != nullptr) world_.fault("a failed call wrote a result");
      return;
    }
    for (std::size_t i = 0; i < row.results; ++i) keep(x->home, x->dtype, count, value, out[i]);
  }

  // Every element of a buffer.
  void look() {
    const auto x = world_.take(any_slot());
    if (x == nullptr) return;
    std::vector<double> words(x->count);
    const tl_status status =
        tl_download(x->handle, TL_FLOAT64, words.data(), words.size() * sizeof(double));
    if (!succeeded("download", status, {x.get()})) return;
    for (const double word : words) {
      if (word == x->value) continue;
      world_.fault("a buffer holds " + std::to_string(word) + " instead of " +
                   std::to_string(x->value));
      return;
    }
  }

  void release() {
    const auto x = world_.take(any_slot());
    if (x == nullptr) return;
    if (!x->may_be_released.exchange(true) && x->count != 0) ++world_.released;
    world_.retired_early += tl_buffer_release(x->handle);
  }

  void call_wrongly() {
    const auto x = world_.take(any_slot());
    const auto y = world_.take(any_slot());
    if (x == nullptr || y == nullptr || x->count == y->count || x->count == 0) return;
    const stress::WrongCall &row =
        stress::wrong_calls()[below(random_, stress::wrong_calls().size())];
    tl_buffer *out = nullptr;
    const tl_status status = row.call(*x, *y, &out);
    const std::string text = tl_last_error();
    if (status != TL_INVALID_ARGUMENT || out != nullptr || text.find(row.name) != 0) {
      world_.fault(std::string("a wrong call of ") + row.name + " was answered: " + text);
    }
    ++world_.refused;
  }

  void ask() {
    const Home &home = world_.homes[below(random_, world_.homes.size())];
    tl_set_thread_backend(home.backend);
    tl_status status = TL_OK;
    std::uint32_t number = 0;
    switch (below(random_, 6)) {
      case 0: status = tl_synchronize(); break;
      case 1: status = tl_empty_cache(); break;
      case 2: status = tl_set_num_threads(1 + static_cast<std::uint32_t>(below(random_, 2))); break;
      case 3: status = tl_get_num_threads(&number); break;
      case 4:
        number = static_cast<std::uint32_t>(below(random_, 2));
        status = tl_set_setting(TL_SETTING_DETERMINISTIC, number, nullptr);
        break;
      default: {
        const tl_counters now = counters();
        if (now.live_bytes != now.created_bytes - now.retired_bytes ||
            now.live_buffers != now.created_buffers - now.retired_buffers ||
            now.peak_bytes < now.live_bytes || now.peak_buffers < now.live_buffers) {
          world_.fault("a snapshot of the counters is not consistent");
        }
      }
    }
    tl_set_thread_backend(nullptr);
    if (status != TL_UNSUPPORTED) succeeded("a control", status, {});
  }

  // An instance of its own, closed while a buffer of it is alive.
  void open_one_more() {
    const Home &home = world_.homes[below(random_, world_.homes.size())];
    tl_backend *own = nullptr;
    const tl_status opened = home.open(&own);
    if (opened != TL_OK) {
      // Its self-test met an allocation that failed on purpose.
      if (std::string(tl_last_error()).find("memory") == std::string::npos) {
        world_.fault(std::string("a second instance: ") + tl_last_error());
      }
      return;
    }
    tl_set_thread_backend(own);
    tl_buffer *x = nullptr;
    const bool is_made = succeeded("on a second instance", tl_zeros(9, TL_FLOAT64, &x), {});
    tl_set_thread_backend(nullptr);
    tl_backend_close(own);
    if (!is_made) return;
    ++world_.created_buffers;
    world_.created_bytes += 9 * sizeof(double);
    tl_buffer *y = nullptr;
    if (tl_unary(TL_UNARY_NEG, x, &y) != TL_UNAVAILABLE) {
      world_.fault("a closed backend computes");
    }
    tl_buffer_free(x);
  }

  World &world_;
  Random random_;
};

// Eight new threads for a second, and an allocation that fails now and then.
void run_round(World &world, unsigned round) {
  world.round_is_over = false;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&world, seed = round * 8 + i + 1] { Worker(world, seed).run(); });
  }
  Random random(round + 1);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
  while (Clock::now() < end) {
    tl_fail_allocations(1 + below(random, 300), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  world.round_is_over = true;
  for (std::thread &thread : threads) thread.join();
  tl_fail_allocations(0, 0);
  for (std::size_t i = 0; i < world.slots.size(); ++i) world.put(i, nullptr);
}

// What a leak would let grow.
struct Footprint {
  std::uint64_t resident_mib = 0;
  std::ptrdiff_t descriptors = 0;

  static Footprint now() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    namespace fs = std::filesystem;
    return {pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) >> 20,
            std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator())};
  }
};

std::uint64_t allocated(const Home &home) {
  tl_memory_figures figures = {};
  figures.struct_size = sizeof figures;
  tl_set_thread_backend(home.backend);
  tl_get_memory_figures(&figures);
  tl_set_thread_backend(nullptr);
  return figures.allocated_bytes;
}

}  // namespace

TEST_CASE("P6, B3: random calls, errors and releases on eight threads") {
  World world;
  for (const std::string &path : torchlean_test::listed(HOST_BACKENDS)) {
    Home home = {path, "cpu"};
    REQUIRE_MESSAGE(home.open(&home.backend) == TL_OK, std::string(tl_last_error()));
    world.homes.push_back(home);
  }
  // The process's own choice: made by a call in a round, its self-test could meet an allocation
  // that fails on purpose, and it would stay without a backend.
  REQUIRE_MESSAGE(tl_set_device(0) == TL_OK, std::string(tl_last_error()));
  const tl_counters before = counters();
  Footprint settled;
  unsigned rounds = 0;
  // Where all is slow, the first rounds may meet no lack of memory: a few more follow.
  const auto goes_on = [&, start = Clock::now()] {
    const double passed = std::chrono::duration<double>(Clock::now() - start).count();
    return passed < seconds() || (world.out_of_memory == 0 && passed < 10 * seconds());
  };
  for (; world.faults().empty() && goes_on(); ++rounds) {
    run_round(world, rounds);
    const tl_counters after = counters();
    CAPTURE(rounds);
    REQUIRE(after.created_buffers - before.created_buffers == world.created_buffers.load());
    REQUIRE(after.created_bytes - before.created_bytes == world.created_bytes.load());
    REQUIRE(world.retired_early.load() == world.released.load());
    REQUIRE(after.live_buffers == before.live_buffers);
    REQUIRE(after.live_bytes == before.live_bytes);
    // It would be refused if a handle were alive.
    REQUIRE_MESSAGE(tl_set_device(0) == TL_OK, std::string(tl_last_error()));
    for (const Home &home : world.homes) REQUIRE(allocated(home) == 0);
    if (rounds == 3) settled = Footprint::now();
  }
  const Footprint last = Footprint::now();
  MESSAGE(rounds << " rounds on " << world.homes.size() << " backends: " << world.calls.load()
                 << " calls, " << world.created_buffers.load() << " buffers of "
                 << world.created_bytes.load() << " bytes made and freed, " << world.refused.load()
                 << " calls refused, " << world.out_of_memory.load()
                 << " out of memory; resident MiB " << settled.resident_mib << ", at the end "
                 << last.resident_mib);
  CHECK(world.faults() == "");
  CHECK(world.refused > 0);
  CHECK(world.out_of_memory > 0);
  for (const Home &home : world.homes) tl_backend_close(home.backend);
  if (rounds <= 4) return;
  CHECK(last.resident_mib <= settled.resident_mib + 64);
  CHECK(last.descriptors == settled.descriptors);
}
