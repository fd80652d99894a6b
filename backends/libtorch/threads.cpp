// The number of host threads, and what else holds on the thread of a call.
//
// OpenMP keeps the number for each thread that starts a parallel loop, so it is set where the call
// comes in, not where the number was changed. The calling thread may be one of a program that uses
// the same OpenMP itself: it gets its own number back.
#include "libtorch.hpp"

#include <ATen/Parallel.h>

#include <dlfcn.h>

namespace torchlean::libtorch {
namespace {

// More than any host has use for; OpenMP ends the process where it cannot start its threads.
constexpr uint32_t max_threads = 1024;

// The OpenMP that ATen itself calls, which may be another than this file would be linked with.
struct OpenMp {
  int (*get_max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;

  OpenMp() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void *>(&at::get_num_threads), &info) == 0) return;
    void *const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    void *const get = dlsym(library, "omp_get_max_threads");
    void *const set = dlsym(library, "omp_set_num_threads");
    if (get == nullptr || set == nullptr) return;  // ATen has threads of another kind
    std::memcpy(&get_max_threads, &get, sizeof get);
    std::memcpy(&set_num_threads, &set, sizeof set);
  }

  bool is_there() const { return get_max_threads != nullptr; }
};

const OpenMp &openmp() {
  static const OpenMp functions;
  return functions;
}

// As many as ATen takes when nobody has said anything.
int default_threads() {
  static const int threads = [] {
    const int former = openmp().is_there() ? openmp().get_max_threads() : 0;
    const int found = at::get_num_threads();
    if (former != 0) openmp().set_num_threads(former);
    return found;
  }();
  return threads;
}

// What ATen was told last, for MKL and for threads that ATen has not met.
std::atomic<int> told{0};

void tell(int wanted) {
  if (told.load(std::memory_order_relaxed) == wanted && openmp().is_there())
    return openmp().set_num_threads(wanted);
  at::set_num_threads(wanted);
  told.store(wanted, std::memory_order_relaxed);
}

}  // namespace

void set_threads(tl_instance &instance, uint32_t threads) {
  const int by_default = default_threads();
  if (threads > max_threads)
    throw invalid("threads is " + std::to_string(threads) + ", expected at most " +
                  std::to_string(max_threads));
  instance.threads = threads == 0 ? by_default : static_cast<int>(threads);
}

CallScope::CallScope(tl_instance &instance) {
  calling_instance = &instance;
  if (instance.lost)
    throw Failure(TL_DEVICE_LOST, "an earlier error has ended the work on this device; start anew");
  if (instance.is_on_cuda()) device_guard_.emplace(instance.device());
  const int wanted = instance.threads.load(std::memory_order_relaxed);
  const int now = openmp().is_there() ? openmp().get_max_threads() : at::get_num_threads();
  // On a thread that ATen has not met it would ask MKL, and set OpenMP's number by that.
  if (now == wanted && told.load(std::memory_order_relaxed) == wanted) return;
  programs_threads_ = now;
  tell(wanted);
}

CallScope::~CallScope() {
  if (programs_threads_ != 0 && openmp().is_there()) openmp().set_num_threads(programs_threads_);
}

}  // namespace torchlean::libtorch
