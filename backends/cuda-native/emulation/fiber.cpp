#include "fiber.hpp"

#include "sanitizers.hpp"

#include <sys/mman.h>
#include <boost/context/detail/fcontext.hpp>

#include <new>

namespace torchlean::cuda::emulation {

namespace context = boost::context::detail;

namespace {

constexpr size_t stack_bytes = 128 * 1024;
constexpr size_t guard_bytes = 4096;  // below the stack: an overflow is a fault, not a riddle

std::byte *map_stack() {
  void *mapping = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::bad_alloc();
  }
  mprotect(mapping, guard_bytes, PROT_NONE);
  return static_cast<std::byte *>(mapping);
}

}  // namespace

struct Fiber::Entry {
  [[gnu::no_sanitize_thread]] static void run(context::transfer_t from) {
    Fiber &fiber = *static_cast<Fiber *>(from.data);
    fiber.host_context_ = from.fctx;
    sanitizer::enter_stack(nullptr, &fiber.host_stack_, &fiber.host_stack_bytes_);
    while (!fiber.ending_) {
      fiber.function_(fiber.argument_);
      fiber.suspend();
    }
    fiber.leave(nullptr);
  }
};

Fiber::Fiber(void (*function)(void *), void *argument)
    : function_(function),
      argument_(argument),
      mapping_(map_stack()),
      context_(
          context::make_fcontext(mapping_ + guard_bytes + stack_bytes, stack_bytes, &Entry::run)),
      thread_(sanitizer::create_thread()) {}

Fiber::~Fiber() {
  const bool begun = host_context_ != nullptr;
  if (begun && sanitizer::finds_overflows) {
    ending_ = true;  // the address sanitizer frees the fiber's frames when it is left for ever
    resume();
  }
  sanitizer::destroy_thread(thread_);
  munmap(mapping_, guard_bytes + stack_bytes);
}

[[gnu::no_sanitize_thread]] void Fiber::resume() {
  host_thread_ = sanitizer::current_thread();
  sanitizer::leave_stack(&host_frames_, mapping_ + guard_bytes, stack_bytes);
  sanitizer::switch_to_thread(thread_);
  context_ = context::jump_fcontext(context_, this).fctx;
  sanitizer::enter_stack(host_frames_, nullptr, nullptr);
}

[[gnu::no_sanitize_thread]] void Fiber::suspend() {
  leave(&frames_);
  sanitizer::enter_stack(frames_, &host_stack_, &host_stack_bytes_);
}

[[gnu::no_sanitize_thread]] void Fiber::leave(void **frames) {
  sanitizer::leave_stack(frames, host_stack_, host_stack_bytes_);
  sanitizer::switch_to_thread(host_thread_);
  host_context_ = context::jump_fcontext(host_context_, nullptr).fctx;
}

}  // namespace torchlean::cuda::emulation
