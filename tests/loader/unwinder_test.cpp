// Tests of core/loader/unwinder.hpp: mixed unwinders are noticed, and the binding follows from it.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "loader/unwinder.hpp"

#include <dlfcn.h>

#include <string>

using namespace torchlean;

namespace {

UnwinderState state(bool mixed, bool libstdcxx_loaded) {
  UnwinderState result;
  result.mixed = mixed;
  result.libstdcxx_loaded = libstdcxx_loaded;
  return result;
}

}  // namespace

TEST_CASE("one unwinder needs no care") {
  for (const bool loaded : {false, true}) {
    for (const bool sanitizer : {false, true}) {
      CHECK(choose_binding(state(false, loaded), sanitizer) == BindingMode::local);
    }
  }
}

TEST_CASE("a mixture is avoided by deep binding until libstdc++ is loaded") {
  CHECK(choose_binding(state(true, false), false) == BindingMode::deep);
  CHECK(choose_binding(state(true, true), false) == BindingMode::refused);
}

TEST_CASE("a sanitizer build never binds deep") {
  CHECK(choose_binding(state(true, false), true) == BindingMode::refused);
  CHECK(choose_binding(state(true, true), true) == BindingMode::refused);
}

TEST_CASE("a refusal names both files and the remedy") {
  UnwinderState mixture = state(true, true);
  mixture.raise_exception_file = "/opt/lean/libleanshared.so";
  const std::string text = binding_refusal(mixture);
  CHECK(text.find("_Unwind_RaiseException comes from /opt/lean/libleanshared.so") !=
        std::string::npos);
  CHECK(text.find("_Unwind_GetIPInfo from nowhere") != std::string::npos);
  CHECK(text.find("libgcc_s.so.1") != std::string::npos);
}

#ifdef STATIC_CXX_RUNTIME

TEST_CASE("a process becomes mixed as libraries arrive") {
  UnwinderState now = inspect_unwinders();
  CHECK_FALSE(now.mixed);
  CHECK_FALSE(now.libstdcxx_loaded);
  CHECK(now.raise_exception_file.empty());  // its own copy is hidden

  REQUIRE(::dlopen(FAKE_UNWINDER, RTLD_NOW | RTLD_GLOBAL) != nullptr);
  now = inspect_unwinders();
  CHECK(now.mixed);
  CHECK(now.raise_exception_file == FAKE_UNWINDER);
  CHECK(now.get_ip_info_file.empty());
  CHECK_FALSE(now.libstdcxx_loaded);
  CHECK(choose_binding(now, false) == BindingMode::deep);

  // A local library's libgcc_s stays out of the global scope.
  REQUIRE(::dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL) != nullptr);
  now = inspect_unwinders();
  CHECK(now.mixed);
  CHECK(now.libstdcxx_loaded);
  CHECK(choose_binding(now, false) == BindingMode::refused);

  // A global libgcc_s that comes second does not end the mixture.
  REQUIRE(::dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr);
  now = inspect_unwinders();
  CHECK(now.mixed);
  CHECK(now.get_ip_info_file.find("libgcc_s.so.1") != std::string::npos);
}

#else

TEST_CASE("a process with libgcc_s from the start is not mixed, and stays so") {
  CHECK_FALSE(inspect_unwinders().mixed);
  REQUIRE(::dlopen(FAKE_UNWINDER, RTLD_NOW | RTLD_GLOBAL) != nullptr);
  const UnwinderState now = inspect_unwinders();
  CHECK_FALSE(now.mixed);
  CHECK(now.libstdcxx_loaded);
}

#endif
