#include "block.hpp"

#include "cuda_language.hpp"
#include "sanitizers.hpp"
#include "schedule.hpp"

#include <algorithm>
#include <utility>

namespace torchlean::cuda::emulation {

std::string Site::text() const {
  const std::string path = file;
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(line);
}

namespace {

// Two tags for each barrier, used in turn: a thread that runs ahead to the next one must not be
// ordered before those that still leave this one.
constexpr size_t barrier_tag(uint32_t passed) { return passed % 2; }
constexpr size_t warp_tag(uint32_t warp, uint32_t passed) { return 2 + 2 * warp + passed % 2; }
static_assert(warp_tag(most_threads_in_a_block / warp_size - 1, 1) < SharedMemory::most_tags);

}  // namespace

// ---- The host's side ---------------------------------------------------------------------------

void Block::end_launch() { sanitizer::acquire(&threads_ended_); }

void Block::run(const Launch &launch, uint32_t block) {
  prepare(launch, block);
  do {
    run_phase();
    if (stopping_) {
      stop();
      std::rethrow_exception(std::exchange(failure_, nullptr));
    }
  } while (pass_barrier());
}

void Block::prepare(const Launch &launch, uint32_t block) {
  shared_memory_.start_block(launch.dynamic_shared_bytes);
  auto &set = sets_[sanitizer::finds_races ? block % 2 : 0];
  while (set.size() < launch.threads) {
    set.push_back(std::make_unique<Thread>(this));
  }
  current_ = set.data();
  launch_ = &launch;
  block_ = block;
  warps_ = (launch.threads + warp_size - 1) / warp_size;
  phase_ = 0;
  seed_ = seed_of_part(launch.schedule, block);
  for (uint32_t warp = 0; warp < warps_; ++warp) {
    warp_barriers_[warp] = 0;
  }
  for (uint32_t thread = 0; thread < launch.threads; ++thread) {
    at(thread).state = State::not_begun;
  }
  sanitizer::release(&host_was_here_);
}

// Until every thread waits or has ended.
void Block::run_phase() {
  const Permutation order(seed_of_part(seed_, phase_), warps_);
  for (uint32_t i = 0; i < warps_ && !stopping_; ++i) {
    run_warp(order(i));
  }
}

// Until every thread of the warp waits for another warp or has ended.
void Block::run_warp(uint32_t warp) {
  const uint32_t first = warp * warp_size;
  const uint32_t lanes = std::min(warp_size, launch_->threads - first);
  const uint64_t seed = seed_of_part(seed_of_part(seed_, phase_), warp + 1);
  bool progress = true;
  for (uint32_t round = 0; progress; ++round) {
    const Permutation order(seed_of_part(seed, round), lanes);
    progress = false;
    for (uint32_t i = 0; i < lanes && !stopping_; ++i) {
      const uint32_t thread = first + order(i);
      const State state = at(thread).state;
      if (state == State::not_begun || state == State::runnable) {
        resume(thread);
        progress = true;
      }
    }
  }
}

[[gnu::no_sanitize_thread]] void Block::resume(uint32_t thread) {
  running_ = thread;
  blockIdx = {block_, 0, 0};
  threadIdx = {thread, 0, 0};
  current_[thread]->fiber.resume();
}

// Ends the launch, after the threads that are in the middle of the kernel: a fiber begins anew only
// when its function has ended.
void Block::stop() {
  stopping_ = true;
  for (uint32_t thread = 0; thread < launch_->threads; ++thread) {
    if (at(thread).state != State::not_begun && at(thread).state != State::ended) {
      resume(thread);
    }
  }
  stopping_ = false;
  end_launch();
}

// Whether the block goes on; false: every thread has ended.
bool Block::pass_barrier() {
  uint32_t ended = 0;
  uint32_t arrived = 0;
  for (uint32_t thread = 0; thread < launch_->threads; ++thread) {
    const Thread &one = at(thread);
    ended += one.state == State::ended ? 1 : 0;
    arrived += one.state == State::at_barrier && one.site == at(0).site ? 1 : 0;
  }
  if (ended == launch_->threads) {
    return false;
  }
  if (arrived < launch_->threads) {
    const Failure deadlock = failure(describe_deadlock());
    stop();
    throw deadlock;
  }
  for (uint32_t thread = 0; thread < launch_->threads; ++thread) {
    at(thread).state = State::runnable;
  }
  ++phase_;
  return true;
}

Failure Block::failure(const std::string &what) const {
  return {TL_INTERNAL, std::string(launch_->operation) + ": emulation: block " +
                           std::to_string(block_) + ": " + what};
}

std::string Block::describe(uint32_t thread) const {
  const std::string name = "thread " + std::to_string(thread);
  if (thread >= launch_->threads) {
    return name + " does not exist";
  }
  const Thread &one = at(thread);
  switch (one.state) {
    case State::at_barrier: return name + " waits at the barrier " + one.site.text();
    case State::in_warp_operation: {
      constexpr const char *digits = "0123456789abcdef";
      std::string mask = "0x";
      for (int shift = 28; shift >= 0; shift -= 4) {
        mask += digits[(one.request.mask >> shift) & 15];
      }
      return name + " waits in the warp operation " + one.site.text() + " with the mask " + mask;
    }
    default: return name + " has ended";
  }
}

// One thread that waits and one that it waits for in vain.
std::string Block::describe_deadlock() const {
  for (uint32_t thread = 0; thread < launch_->threads; ++thread) {
    const uint32_t first = thread / warp_size * warp_size;
    for (uint32_t lane = 0; at(thread).state == State::in_warp_operation && lane < warp_size;
         ++lane) {
      if ((at(thread).request.mask >> lane) % 2 == 1 && !is_met(at(thread), first + lane)) {
        return describe(thread) + ", but " + describe(first + lane);
      }
    }
  }
  uint32_t waiting = 0;
  while (at(waiting).state != State::at_barrier) {
    ++waiting;
  }
  uint32_t elsewhere = 0;
  while (at(elsewhere).state == State::at_barrier && at(elsewhere).site == at(waiting).site) {
    ++elsewhere;
  }
  return describe(waiting) + ", but " + describe(elsewhere);
}

// ---- The kernel threads' side ------------------------------------------------------------------

void *Block::variable(const void *key, size_t bytes, Site site) {
  void *const address = shared_memory_.variable(key, bytes);
  if (address == nullptr) {
    throw failure("no room in " + std::to_string(most_shared_bytes) +
                  " bytes of shared memory for " + std::to_string(bytes) + " more at " +
                  site.text());
  }
  return address;
}

[[gnu::no_sanitize_thread]] void Block::run_thread() {
  sanitizer::acquire(&host_was_here_);
  Thread &self = *current_[running_];
  self.state = State::runnable;
  try {
    launch_->kernel();
  } catch (const Stopped &) {
  } catch (...) {
    failure_ = std::current_exception();
    stopping_ = true;
  }
  self.state = State::ended;
  sanitizer::release(&threads_ended_);
}

[[gnu::no_sanitize_thread]] void Block::suspend() {
  current_[running_]->fiber.suspend();
  if (stopping_) {
    throw Stopped();
  }
}

[[gnu::no_sanitize_thread]] void Block::wait_at_barrier(Site site) {
  Thread &self = *current_[running_];
  const size_t tag = barrier_tag(phase_);
  sanitizer::release(shared_memory_.tag(tag));
  self.site = site;
  self.state = State::at_barrier;
  suspend();
  sanitizer::acquire(shared_memory_.tag(tag));
}

[[gnu::no_sanitize_thread]] uint64_t Block::take_part(const WarpRequest &request, Site site) {
  Thread &self = *current_[running_];
  const uint32_t warp = running_ / warp_size;
  const uint32_t first = warp * warp_size;
  if ((request.mask >> (running_ - first)) % 2 == 0) {
    throw failure("thread " + std::to_string(running_) + " is not in its own mask at " +
                  site.text());
  }
  void *const tag = shared_memory_.tag(warp_tag(warp, warp_barriers_[warp]));
  const bool orders = request.kind == WarpRequest::Kind::synchronize;
  if (orders) {
    sanitizer::release(tag);
  }
  self.request = request;
  self.site = site;
  self.state = State::in_warp_operation;
  bool all = true;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    all = all && ((request.mask >> lane) % 2 == 0 || is_met(self, first + lane));
  }
  if (all) {
    complete(request, first);
    warp_barriers_[warp] += orders ? 1 : 0;
  } else {
    suspend();
  }
  if (orders) {
    sanitizer::acquire(tag);
  }
  return self.result;
}

// Whether `thread` is in the warp operation in which `waiting` waits for it.
[[gnu::no_sanitize_thread]] bool Block::is_met(const Thread &waiting, uint32_t thread) const {
  if (thread >= launch_->threads) {
    return false;
  }
  const Thread &other = *current_[thread];
  return other.state == State::in_warp_operation && other.site == waiting.site &&
         other.request.kind == waiting.request.kind && other.request.mask == waiting.request.mask;
}

// Gives every lane of the mask its result and lets it go on; `first` is the warp's first thread.
[[gnu::no_sanitize_thread]] void Block::complete(const WarpRequest &request, uint32_t first) {
  uint64_t votes = 0;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    if ((request.mask >> lane) % 2 == 1) {
      votes |= (current_[first + lane]->request.value & 1) << lane;
    }
  }
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    if ((request.mask >> lane) % 2 == 0) {
      continue;
    }
    Thread &one = *current_[first + lane];
    const uint32_t source = one.request.source;
    if (request.kind == WarpRequest::Kind::ballot) {
      one.result = votes;
    } else if (request.kind == WarpRequest::Kind::shuffle) {
      if ((request.mask >> source) % 2 == 0) {
        throw failure("thread " + std::to_string(first + lane) + " takes the value of lane " +
                      std::to_string(source) + ", which takes no part, at " + one.site.text());
      }
      one.result = current_[first + source]->request.value;
    }
    one.state = State::runnable;
  }
}

}  // namespace torchlean::cuda::emulation
