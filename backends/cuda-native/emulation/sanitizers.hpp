// What the sanitizers must be told when one host thread runs many kernel threads. In a build
// without them every function here is empty.
//
// The functions of the scheduler that switch, and those that write what kernel threads read without
// order, carry [[gnu::no_sanitize_thread]]: instrumented, they would be reported themselves.
#pragma once

#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __SANITIZE_THREAD__
// Not in g++ 12's headers, but in its runtime.
extern "C" {
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void *__tsan_get_current_fiber();
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *tag);
void __tsan_release(void *tag);
}
#endif

namespace torchlean::cuda::emulation::sanitizer {

#ifdef __SANITIZE_THREAD__
inline constexpr bool finds_races = true;

[[gnu::no_sanitize_thread]] inline void *create_thread() { return __tsan_create_fiber(0); }
[[gnu::no_sanitize_thread]] inline void destroy_thread(void *thread) {
  __tsan_destroy_fiber(thread);
}
[[gnu::no_sanitize_thread]] inline void *current_thread() { return __tsan_get_current_fiber(); }
// The switch itself orders nothing.
[[gnu::no_sanitize_thread]] inline void switch_to_thread(void *thread) {
  constexpr unsigned without_order = 1;
  __tsan_switch_to_fiber(thread, without_order);
}
// What came before a release of a tag happened before what comes after an acquire of it.
[[gnu::no_sanitize_thread]] inline void release(void *tag) { __tsan_release(tag); }
[[gnu::no_sanitize_thread]] inline void acquire(void *tag) { __tsan_acquire(tag); }
#else
inline constexpr bool finds_races = false;

inline void *create_thread() { return nullptr; }
inline void destroy_thread(void *) {}
inline void *current_thread() { return nullptr; }
inline void switch_to_thread(void *) {}
inline void release(void *) {}
inline void acquire(void *) {}
#endif

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool finds_overflows = true;

// Before a switch to the stack [bottom, bottom + bytes): keeps the frames of the stack that is left
// in *frames; a null `frames` says that it is left for ever.
inline void leave_stack(void **frames, const void *bottom, size_t bytes) {
  __sanitizer_start_switch_fiber(frames, bottom, bytes);
}
// After a switch: what leave_stack kept for this stack (null at first), and the stack come from.
inline void enter_stack(void *frames, const void **bottom, size_t *bytes) {
  __sanitizer_finish_switch_fiber(frames, bottom, bytes);
}
inline void forbid(const void *from, size_t bytes) { __asan_poison_memory_region(from, bytes); }
inline void allow(const void *from, size_t bytes) { __asan_unpoison_memory_region(from, bytes); }
#else
inline constexpr bool finds_overflows = false;

inline void leave_stack(void **, const void *, size_t) {}
inline void enter_stack(void *, const void **, size_t *) {}
inline void forbid(const void *, size_t) {}
inline void allow(const void *, size_t) {}
#endif

}  // namespace torchlean::cuda::emulation::sanitizer
