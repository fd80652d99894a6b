// Finds which files define the unwinder for libraries opened from now on.
#include "loader/unwinder.hpp"

#include "loader/library_search.hpp"

#include <dlfcn.h>

#include <string_view>

namespace torchlean {
namespace {

// The file of a symbol's first definition in the global scope.
std::string defining_file(const char *symbol) {
  void *address = ::dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr) return {};
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "(unknown file)";
  return info.dli_fname;
}

bool is_libgcc(std::string_view file) {
  return file.substr(file.rfind('/') + 1).starts_with("libgcc_s.so");
}

// A sanitizer's `_Unwind_RaiseException` only passes on to the next one. Its alias, with two or
// three underscores by version, tells it apart.
bool raise_is_intercepted() {
  return ::dlsym(RTLD_DEFAULT, "__interceptor__Unwind_RaiseException") != nullptr ||
         ::dlsym(RTLD_DEFAULT, "___interceptor__Unwind_RaiseException") != nullptr;
}

bool is_mixed(const UnwinderState &state) {
  if (raise_is_intercepted()) return !is_libgcc(state.get_ip_info_file);
  return !state.raise_exception_file.empty() && !is_libgcc(state.raise_exception_file) &&
         state.get_ip_info_file != state.raise_exception_file;
}

std::string named(const std::string &file) { return file.empty() ? "nowhere" : file; }

}  // namespace

UnwinderState inspect_unwinders() {
  UnwinderState state;
  state.raise_exception_file = defining_file("_Unwind_RaiseException");
  state.get_ip_info_file = defining_file("_Unwind_GetIPInfo");
  state.libstdcxx_loaded = !find_mapped_library("libstdc++.so.6").empty();
  state.libgcc_loaded = !find_mapped_library("libgcc_s.so.1").empty();
  state.mixed = is_mixed(state);
  return state;
}

BindingMode choose_binding(const UnwinderState &state, bool sanitizer_build) {
  if (!state.mixed) return BindingMode::local;
  return state.libstdcxx_loaded || state.libgcc_loaded || sanitizer_build ? BindingMode::refused
                                                                          : BindingMode::deep;
}

std::string binding_refusal(const UnwinderState &state) {
  return "C++ exceptions would abort this process: _Unwind_RaiseException comes from " +
         named(state.raise_exception_file) + ", _Unwind_GetIPInfo from " +
         named(state.get_ip_info_file) +
         (state.libstdcxx_loaded ? ", and libstdc++ is already bound to them. "
          : state.libgcc_loaded  ? ", and libgcc_s is already bound to them. "
                                 : ", and a sanitizer forbids deep binding. ") +
         "Link the program with libgcc_s.so.1 first (-Wl,--no-as-needed -l:libgcc_s.so.1), or "
         "start "
         "it with LD_PRELOAD=libgcc_s.so.1.";
}

}  // namespace torchlean
