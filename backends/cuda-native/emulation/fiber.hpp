// A function with a stack of its own, which can stop in its middle and go on later: what a kernel
// thread is under emulation. Known to the sanitizers as a thread.
#pragma once

#include <cstddef>

namespace torchlean::cuda::emulation {

// Belongs to the host thread that made it. Making one is dear, so a fiber runs its function again
// and again.
class Fiber {
 public:
  // Throws std::bad_alloc without memory for the stack.
  Fiber(void (*function)(void *), void *argument);
  // The function must have ended, or never begun.
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  // Called outside the fiber: runs the function, from its start if it had ended, else from where it
  // was suspended, until it ends or is suspended.
  void resume();
  // Called inside.
  void suspend();

 private:
  struct Entry;  // where the fiber begins

  void leave(void **frames);

  void (*function_)(void *);
  void *argument_;
  std::byte *mapping_;
  void *context_;
  void *thread_;                  // the thread sanitizer's
  void *frames_ = nullptr;        // the address sanitizer's
  void *host_context_ = nullptr;  // all of the resuming side
  void *host_thread_ = nullptr;
  void *host_frames_ = nullptr;
  const void *host_stack_ = nullptr;
  size_t host_stack_bytes_ = 0;
  bool ending_ = false;
};

}  // namespace torchlean::cuda::emulation
