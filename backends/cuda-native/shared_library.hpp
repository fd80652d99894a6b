// One of NVIDIA's libraries, opened for good when it is first needed.
#pragma once

#include "device_api.hpp"

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace torchlean::cuda::device {

class SharedLibrary {
 public:
  // `package` says what to install: "NVIDIA's cuBLAS 13". Throws where it cannot be opened.
  SharedLibrary(const std::string &file, const std::string &package)
      : file_(file), package_(package), handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      throw Failure(TL_UNAVAILABLE, file + " cannot be opened: " + dlerror() + "; install " +
                                        package + ", or put its folder into LD_LIBRARY_PATH");
    }
  }

  // The function of that name, as a pointer of any type.
  template <class Function>
  void find(const char *name, Function &function) const {
    void *const symbol = dlsym(handle_, name);
    if (symbol == nullptr) {
      throw Failure(TL_UNAVAILABLE, file_ + " has no function " + name + "; install " + package_);
    }
    static_assert(sizeof symbol == sizeof function);
    std::memcpy(&function, &symbol, sizeof symbol);
  }

 private:
  std::string file_;
  std::string package_;
  void *handle_;
};

// The process's one Functions, whose constructor opens a library and looks up what we call of it.
// Tried anew by each call until it succeeds.
template <class Functions>
const Functions &opened(const char *operation) {
  try {
    static const auto &functions = *new Functions;
    return functions;
  } catch (const Failure &failure) {
    throw Failure(failure.status(), std::string(operation) + ": " + failure.what());
  }
}

// Throws what a library's failure comes to; `text` is its own word for it.
[[noreturn]] inline void throw_failure(Stream &stream, const char *operation, const char *step,
                                       bool is_out_of_memory, const std::string &text) {
  if (!is_out_of_memory) {
    synchronize(stream, operation);  // an earlier fault explains it better
  }
  throw Failure(is_out_of_memory ? TL_OUT_OF_MEMORY : TL_DEVICE_ERROR,
                std::string(operation) + ": " + step + ": " + text);
}

}  // namespace torchlean::cuda::device
