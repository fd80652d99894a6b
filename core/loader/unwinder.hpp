// Whether a C++ library opened now would throw through one unwinder or a mixture of two.
#pragma once

#include <string>

namespace torchlean {

/// How a C++ backend's file is opened.
enum class BindingMode {
  local,    ///< RTLD_NOW | RTLD_LOCAL
  deep,     ///< with RTLD_DEEPBIND, so that it and its libstdc++ bind to their own libgcc_s
  refused,  ///< not at all: its first throw would abort the process
};

/// The unwinder functions that a library opened now would bind to. Files are empty where no global
/// definition exists.
struct UnwinderState {
  /// `_Unwind_RaiseException` comes from a file other than libgcc_s that does not also give
  /// `_Unwind_GetIPInfo`: Lean's shared library does that, and C++ exceptions then abort.
  bool mixed = false;
  bool libstdcxx_loaded = false;  ///< a shared libstdc++ is mapped, hence already bound
  /// libgcc_s is mapped: in a mixed process it is bound to the other unwinder itself (it calls its
  /// own functions through the global scope), so that deep binding to it does not help.
  bool libgcc_loaded = false;
  std::string raise_exception_file;
  std::string get_ip_info_file;
};

/// Looks at the process as it is now; nothing is opened. The functions are sought in the global
/// scope (the program, its libraries, RTLD_GLOBAL ones), not in the core's own copy, which is
/// linked statically and hidden: `dlsym(RTLD_DEFAULT)` does not see it. Any thread; the answer can
/// change with every library that another thread opens.
UnwinderState inspect_unwinders();

/// Not mixed: local. Mixed: deep while libstdc++ is not loaded, else refused. Never deep in a
/// sanitizer build, whose interceptors deep binding bypasses.
BindingMode choose_binding(const UnwinderState &state, bool sanitizer_build);

/// Why BindingMode::refused was chosen, and the remedy; one sentence each.
std::string binding_refusal(const UnwinderState &state);

}  // namespace torchlean
