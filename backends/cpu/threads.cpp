// The pool of threads.
#include "threads.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>

#include <sched.h>
#include <signal.h>

namespace torchlean::cpu {
namespace {

// More than any loop here gains from.
constexpr uint32_t max_workers = 255;

// Each piece is this part of what is left of a share: the first ones are large and cost nothing,
// the last ones small enough that all threads end together. Equal pieces, four for each thread,
// were 120 µs of work on two threads where 95 were possible.
constexpr uint64_t part_of_share = 4;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `word` differs from `old`: awake for a few microseconds, in which the next loop often
// comes, then asleep.
uint32_t wait_for_change(const std::atomic<uint32_t> &word, uint32_t old) {
  constexpr int rounds = 200;
  for (int i = 0; i < rounds; ++i) {
    const uint32_t now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_briefly();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

// The thread's part of a loop: units [begin, end) that nobody has taken, in one word. Its owner
// takes from the front, who has finished another share from the back. A loop over the same count
// has the same shares each time, so that a thread meets the memory that its core's caches hold.
class alignas(64) Share {
 public:
  struct Units {
    uint64_t begin;
    uint64_t end;
    bool is_empty() const { return begin >= end; }
  };
  static constexpr uint64_t max_units = (uint64_t{1} << 32) - 1;

  void give(Units units) { word_.store(pack(units), std::memory_order_relaxed); }

  Units take(bool is_own) {
    uint64_t word = word_.load(std::memory_order_relaxed);
    for (;;) {
      const Units left = {word & max_units, word >> 32};
      if (left.is_empty()) return left;
      const uint64_t size = (left.end - left.begin - 1) / part_of_share + 1;
      const uint64_t cut = is_own ? left.begin + size : left.end - size;
      const Units front = {left.begin, cut};
      const Units back = {cut, left.end};
      if (word_.compare_exchange_weak(word, pack(is_own ? back : front), std::memory_order_relaxed))
        return is_own ? front : back;
    }
  }

 private:
  static uint64_t pack(Units units) { return units.end << 32 | units.begin; }

  std::atomic<uint64_t> word_{0};
};

class Pool {
 public:
  // False where it is taken.
  bool run(const detail::Loop &loop, uint32_t threads) {
    if (taken_.test_and_set(std::memory_order_acquire)) return false;
    const uint32_t helpers = grow_to(std::min(threads - 1, max_workers));
    const uint64_t grains = (loop.count - 1) / loop.grain + 1;
    loop_ = loop;
    unit_ = ((grains - 1) / Share::max_units + 1) * loop.grain;
    const uint64_t units = (loop.count - 1) / unit_ + 1;
    const uint32_t wanted = static_cast<uint32_t>(std::min<uint64_t>(helpers, units - 1));
    share_out(units, wanted + 1);
    seats_.store(wanted << called_shift | wanted << free_shift, std::memory_order_release);
    for (uint32_t i = 0; i < wanted; ++i) {
      calls_[i].word.fetch_add(1, std::memory_order_release);
      calls_[i].word.notify_one();
    }
    take_pieces(0);
    // Nobody may sit down any more; those who did are waited for.
    uint32_t seats = seats_.fetch_and(seat_mask, std::memory_order_acq_rel) & seat_mask;
    while (seats != 0) seats = wait_for_change(seats_, seats);
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    failed_.clear(std::memory_order_relaxed);
    taken_.clear(std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  // The word on which a worker sleeps, on a cache line of its own.
  struct alignas(64) Call {
    std::atomic<uint32_t> word{0};
  };

  // Starts workers until there are `wanted`; how many there are, fewer where the system refuses.
  uint32_t grow_to(uint32_t wanted) {
    // The program's signals are for its own threads.
    sigset_t all;
    sigset_t former;
    sigfillset(&all);
    if (workers_ < wanted) pthread_sigmask(SIG_SETMASK, &all, &former);
    const uint32_t before = workers_;
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this, i = workers_] { work(i); }).detach();
    } catch (const std::exception &) {  // no thread to be had: fewer do it
    }
    if (before < wanted) pthread_sigmask(SIG_SETMASK, &former, nullptr);
    return std::min(workers_, wanted);
  }

  void work(uint32_t worker) {
    for (uint32_t seen = 0;;) {
      seen = wait_for_change(calls_[worker].word, seen);
      if (!sit_down(worker)) continue;
      take_pieces(worker + 1);
      if ((seats_.fetch_sub(1, std::memory_order_acq_rel) - 1) == 0) seats_.notify_one();
    }
  }

  // Takes part in the loop under way; false where there is none, or one that has called fewer
  // workers than a former one that woke this.
  bool sit_down(uint32_t worker) {
    uint32_t seats = seats_.load(std::memory_order_acquire);
    while ((seats >> free_shift & seat_mask) != 0 && worker < seats >> called_shift) {
      const uint32_t taken = seats - (1U << free_shift) + 1;
      if (seats_.compare_exchange_weak(seats, taken, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void share_out(uint64_t units, uint32_t shares) {
    const uint64_t least = units / shares;
    const uint64_t larger = units % shares;
    share_count_ = shares;
    for (uint64_t i = 0, begin = 0; i < shares; ++i) {
      const uint64_t end = begin + least + (i < larger ? 1 : 0);
      shares_[i].give({begin, end});
      begin = end;
    }
  }

  // One's own share first.
  void take_pieces(uint32_t own) noexcept {
    for (uint32_t i = 0; i < share_count_; ++i) {
      Share &share = shares_[(own + i) % share_count_];
      for (auto units = share.take(i == 0); !units.is_empty(); units = share.take(i == 0))
        run_piece(units);
    }
  }

  void run_piece(Share::Units units) noexcept {
    try {
      loop_.run(loop_.body, units.begin * unit_, std::min(units.end * unit_, loop_.count));
    } catch (...) {
      if (!failed_.test_and_set(std::memory_order_relaxed)) failure_ = std::current_exception();
      for (uint32_t i = 0; i < share_count_; ++i) shares_[i].give({0, 0});
    }
  }

  // seats_: workers called, seats that are free, threads seated.
  static constexpr int free_shift = 10;
  static constexpr int called_shift = 20;
  static constexpr uint32_t seat_mask = (1U << free_shift) - 1;

  std::atomic_flag taken_;
  detail::Loop loop_{};
  uint64_t unit_ = 0;  // elements of a share's unit: a grain, or several where they are very many
  uint32_t share_count_ = 0;
  alignas(64) std::atomic<uint32_t> seats_{0};
  std::atomic_flag failed_;
  std::exception_ptr failure_;
  uint32_t workers_ = 0;
  std::array<Call, max_workers> calls_;
  std::array<Share, max_workers + 1> shares_;
};

// Never destroyed: its threads sleep in it when the process ends.
Pool &pool() {
  static auto *const instance = new Pool;
  return *instance;
}

}  // namespace

namespace detail {

void run_in_pool(const Loop &loop, uint32_t threads) {
  if (!pool().run(loop, threads)) loop.run(loop.body, 0, loop.count);
}

}  // namespace detail

uint32_t default_threads() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return std::thread::hardware_concurrency();
  return static_cast<uint32_t>(CPU_COUNT(&allowed));
}

}  // namespace torchlean::cpu
