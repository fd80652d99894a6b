// libtorch_cuda.so, which has ATen's kernels for CUDA and registers them when it is opened.
#pragma once

#include <torchlean/backend.hpp>

#include <dlfcn.h>

#include <cstring>

namespace torchlean::libtorch::cuda {

class Library {
 public:
  // Opens the one beside this process's libtorch_cpu.so, for good. Throws TL_UNAVAILABLE, naming
  // all that is missing.
  Library();

  // The function of that name in it or in a library that it needs, as a pointer of any type.
  template <class Function>
  bool has(const char *name, Function &function) const {
    void *const symbol = dlsym(file_, name);
    static_assert(sizeof symbol == sizeof function);
    if (symbol != nullptr) std::memcpy(&function, &symbol, sizeof symbol);
    return symbol != nullptr;
  }
  template <class Function>
  void find(const char *name, Function &function) const {
    if (!has(name, function))
      throw Failure(TL_UNAVAILABLE, std::string("the CUDA runtime of LibTorch has no ") + name);
  }

 private:
  void *file_;
};

}  // namespace torchlean::libtorch::cuda
