// A call's work, shared out among threads.
//
// The pool belongs to the process. Its threads start at the first loop that is worth them, sleep
// between loops and are never joined: a call waits only for threads that took part, so none of them
// computes when the process ends, since the core lets it end after its last call.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

namespace detail {

// Calls run(body, begin, end) for pieces of `grains` grains of `grain`, the last one cut at count.
struct Loop {
  void (*run)(const void *body, uint64_t begin, uint64_t end);
  const void *body;
  uint64_t count;
  uint64_t grain;
};

// More than one grain on more than one thread.
void run_in_pool(const Loop &loop, uint32_t threads);

}  // namespace detail

// As many as the process may run on.
uint32_t default_threads();

// Calls body(begin, end) for pieces that together cover [0, count), on up to instance.threads
// threads, the caller's among them. Every begin is a multiple of grain, every end too, or count. A
// count up to grain is one piece on this thread. Which pieces there are depends on the number of
// threads and on chance: what must not may depend on multiples of grain alone.
//
// Where the pool is taken, by another call or by the loop around this one, the caller computes
// alone. The first exception of a body ends the loop and reaches the caller.
template <class Body>
void parallel_for(const tl_instance &instance, uint64_t count, uint64_t grain, const Body &body) {
  const uint32_t threads = instance.threads.load(std::memory_order_relaxed);
  if (count <= grain || threads <= 1) {
    if (count > 0) body(uint64_t{0}, count);
    return;
  }
  detail::run_in_pool({[](const void *pointer, uint64_t begin, uint64_t end) {
                         (*static_cast<const Body *>(pointer))(begin, end);
                       },
                       &body, count, grain},
                      threads);
}

}  // namespace torchlean::cpu
