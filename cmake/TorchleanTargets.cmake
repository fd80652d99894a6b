# How our own libraries, backends and tests are built.
include_guard(GLOBAL)

# The public headers.
add_library(torchlean_headers INTERFACE)
add_library(torchlean::headers ALIAS torchlean_headers)
target_include_directories(torchlean_headers INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(torchlean_headers PROPERTIES EXPORT_NAME headers)

# The flags of everything that we compile (nvcc is told its own); the plain ones have no sanitizer.
add_library(torchlean_plain_options INTERFACE)
add_library(torchlean_build_options INTERFACE)
set(own_code $<COMPILE_LANGUAGE:C,CXX>)
set(own_cxx $<COMPILE_LANGUAGE:CXX>)
set(own_flags
  "$<${own_code}:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wundef;-Wformat=2;-Wvla>"
  "$<${own_code}:-Wcast-align;-Wpointer-arith;-Wlogical-op;-Wduplicated-cond>"
  "$<${own_cxx}:-Wnon-virtual-dtor;-Woverloaded-virtual;-Wextra-semi;-Wsuggest-override>"
  "$<$<AND:${own_code},$<BOOL:${TORCHLEAN_WERROR}>>:-Werror>"
  # Results are specified bit for bit: no contraction to FMA, no relaxed arithmetic.
  "$<${own_code}:-ffp-contract=off;-fno-fast-math>"
  # g++ 12 makes vectors of neighbouring double-float-double conversions and drops both of them
  # (families_canonical_test fails without this). Loops are vectorised elsewhere and stay so.
  "$<$<AND:${own_code},$<CXX_COMPILER_ID:GNU>>:-fno-tree-slp-vectorize>"
  "$<${own_code}:-fPIC;-fvisibility=hidden>"
  "$<${own_cxx}:-fvisibility-inlines-hidden>"
  # No machine's folders in what we ship; cached objects serve every clone.
  "$<${own_code}:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>")
target_compile_options(torchlean_plain_options INTERFACE ${own_flags})
target_compile_options(torchlean_build_options INTERFACE ${own_flags})
if(TORCHLEAN_SANITIZE STREQUAL "address")
  set(torchlean_sanitizer -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(TORCHLEAN_SANITIZE STREQUAL "thread")
  set(torchlean_sanitizer -fsanitize=thread)
endif()
# What a sanitizer looks at is compiled with assertions and without optimisation, which would cost more
# time than it saves, but for targets with the property TORCHLEAN_OPTIMISED: they compute much.
if(TORCHLEAN_SANITIZE)
  target_compile_options(torchlean_build_options INTERFACE
    "$<${own_code}:${torchlean_sanitizer};-fno-omit-frame-pointer;-UNDEBUG>"
    "$<${own_code}:-O$<IF:$<BOOL:$<TARGET_PROPERTY:TORCHLEAN_OPTIMISED>>,1,0>>")
  target_link_options(torchlean_build_options INTERFACE ${torchlean_sanitizer})
  torchlean_left_out("isolation of the C++ runtime"
                     "a sanitizer needs the shared one (TORCHLEAN_SANITIZE=${TORCHLEAN_SANITIZE})")
endif()

# torchlean_clients(): what this folder builds uses the runtime as any program does. Under a sanitizer
# it is compiled as in a release, so that the compiler cache serves every preset from one: what is
# looked at there are the libraries that it calls.
set(torchlean_options torchlean_build_options)
macro(torchlean_clients)
  set(torchlean_options torchlean_plain_options)
endmacro()

# torchlean_unite(<variable> <count> <file>...): sets it to sources that include <count> of the files
# each, which share the headers' cost; with TORCHLEAN_UNITY=OFF to the files. Names in their unnamed
# namespaces must differ. (CMake's own unity sources name the clone's folder, so that the compiler
# cache would look for them the long way.)
function(torchlean_unite variable count)
  if(NOT TORCHLEAN_UNITY)
    set(${variable} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(sources "")
  while(ARGN)
    list(LENGTH sources number)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${variable}/${number}.cpp)
    set(text "")
    list(SUBLIST ARGN 0 ${count} files)
    list(REMOVE_ITEM ARGN ${files})
    foreach(file ${files})
      cmake_path(ABSOLUTE_PATH file)
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${variable})
      string(APPEND text "#include \"${file}\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
    list(APPEND sources ${source})
  endwhile()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# torchlean_export_only(<target> <version script>): only the symbols that the script names leave it.
function(torchlean_export_only target script)
  get_filename_component(script ${script} ABSOLUTE)
  target_link_options(${target} PRIVATE LINKER:--version-script=${script})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# torchlean_isolate_cxx_runtime(<target> [<version script>]): links libstdc++ and libgcc statically
# and hides them. In a Lean process a shared libstdc++ may bind to Lean's unwinder and abort on its
# first throw (docs/architecture.md); a library treated so needs nothing but libc. It can never be
# unloaded, since its thread-local destructors could run later.
function(torchlean_isolate_cxx_runtime target)
  if(ARGC GREATER 1)
    torchlean_export_only(${target} ${ARGV1})
  endif()
  target_link_options(${target} PRIVATE LINKER:-z,nodelete)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "") # it needs none
  if(NOT TORCHLEAN_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
      LINKER:--exclude-libs,ALL LINKER:-Bsymbolic LINKER:-z,defs)
  endif()
endfunction()

# torchlean_add_backend(<name> SOURCES <file>... [LIBRARIES <target>...] [STATIC_CXX] [TEST_ONLY]
#                       [RUN_PATHS <folder>...] [DIRECTORY <folder>])
# Target torchlean_backend_<name>, file torchlean_<name>.so, exporting torchlean_backend_entry only.
# STATIC_CXX isolates its C++ runtime: for backends that link no shared C++ library.
# RUN_PATHS are absolute folders of foreign libraries, for this backend and what it loads.
# TEST_ONLY: it is not installed. DIRECTORY puts it there instead of among the backends, and it is not
# installed either.
function(torchlean_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STATIC_CXX;TEST_ONLY" "DIRECTORY"
                        "SOURCES;LIBRARIES;RUN_PATHS")
  set(target torchlean_backend_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE torchlean_headers torchlean_build_options ${arg_LIBRARIES})
  target_compile_definitions(${target} PRIVATE TORCHLEAN_VERSION="${PROJECT_VERSION}")
  if(arg_STATIC_CXX)
    torchlean_isolate_cxx_runtime(${target} ${PROJECT_SOURCE_DIR}/cmake/backend.map)
  else()
    torchlean_export_only(${target} ${PROJECT_SOURCE_DIR}/cmake/backend.map)
    if(NOT TORCHLEAN_SANITIZE)
      target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
  endif()
  if(arg_RUN_PATHS)
    # RPATH rather than RUNPATH: it also serves the foreign libraries' own dependencies.
    target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
  endif()
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME torchlean_${name}
    LIBRARY_OUTPUT_DIRECTORY ${TORCHLEAN_BACKEND_OUTPUT_DIR}
    INSTALL_RPATH "$ORIGIN;${arg_RUN_PATHS}" BUILD_WITH_INSTALL_RPATH ON)
  if(arg_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_DIRECTORY})
  elseif(NOT arg_TEST_ONLY)
    install(TARGETS ${target} LIBRARY DESTINATION ${TORCHLEAN_BACKEND_INSTALL_DIR})
  endif()
endfunction()

# What a sanitizer preset builds: the tests with its label and all that they depend on.
add_custom_target(checks)

# torchlean_add_test(<name> SOURCES <file>... [LIBRARIES <target>...] [LABELS <label>...]
#                    [ENVIRONMENT <name=value>...] [ARGS <argument>...] [TIMEOUT <seconds>]
#                    [PLAIN] [LONG] [SERIAL] [SANITIZED | STARTS_PROGRAMS])
# A doctest program <build>/tests/bin/<name> and its test. The labels asan and tsan make it run in
# those presets too; what it starts or loads must be among its dependencies then. PLAIN: the source
# has its own main and no doctest. LONG: a second test <name>.long, label long, for `./dev test
# --long`, has TL_TEST_LONG=1 set and an hour's time.
# SERIAL: nothing else runs beside it (it measures time).
# The address sanitizer looks at the libraries and objects that a test links; its own sources are
# compiled as in a release, so that the compiler cache has them, unless it is SANITIZED, for kernels of
# its own or since it asks for the sanitizer. (The thread sanitizer must see the test's own atomics.)
# STARTS_PROGRAMS: it does nothing else that is worth a sanitizer or optimisation, and is compiled once
# for all presets.
function(torchlean_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN;LONG;SERIAL;SANITIZED;STARTS_PROGRAMS" "TIMEOUT"
                        "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;ARGS")
  add_executable(${name} ${arg_SOURCES})
  if(arg_STARTS_PROGRAMS OR (TORCHLEAN_SANITIZE STREQUAL "address" AND NOT arg_SANITIZED))
    set(torchlean_options torchlean_plain_options)
  endif()
  # A test's own code computes little, and there is much of it.
  target_compile_options(${name} PRIVATE -O$<IF:$<BOOL:${arg_STARTS_PROGRAMS}>,0,1>)
  target_link_libraries(${name} PRIVATE torchlean_headers ${torchlean_options} ${arg_LIBRARIES})
  target_link_options(${name} PRIVATE ${torchlean_sanitizer})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin
    BUILD_WITH_INSTALL_RPATH OFF INSTALL_RPATH "")
  if(NOT arg_PLAIN)
    if(NOT TARGET torchlean_doctest)
      add_library(torchlean_doctest STATIC ${PROJECT_SOURCE_DIR}/cmake/doctest_main.cpp)
      target_link_libraries(torchlean_doctest PRIVATE torchlean_build_options)
    endif()
    target_link_libraries(${name} PRIVATE torchlean_doctest)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if((TORCHLEAN_SANITIZE STREQUAL "address" AND "asan" IN_LIST arg_LABELS)
     OR (TORCHLEAN_SANITIZE STREQUAL "thread" AND "tsan" IN_LIST arg_LABELS))
    add_dependencies(checks ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}"
    RUN_SERIAL ${arg_SERIAL})
  if(arg_LONG)
    add_test(NAME ${name}.long COMMAND ${name} ${arg_ARGS})
    set_tests_properties(${name}.long PROPERTIES
      TIMEOUT 3600 LABELS long ENVIRONMENT "${arg_ENVIRONMENT};TL_TEST_LONG=1"
      RUN_SERIAL ${arg_SERIAL})
  endif()
endfunction()

# torchlean_test_paths(<target> [<name> <path>]...): constants `const char *const <name>` of the test
# program, declared without an #include. They are compiled in a file of their own, so that the
# compiler cache serves the tests of every clone and preset.
function(torchlean_test_paths target)
  set(declarations "")
  set(definitions "")
  while(ARGN)
    list(POP_FRONT ARGN name path)
    string(APPEND declarations "extern const char *const ${name};\n")
    string(APPEND definitions "const char *const ${name} = \"${path}\";\n")
  endwhile()
  set(paths ${CMAKE_CURRENT_BINARY_DIR}/${target}_paths)
  file(GENERATE OUTPUT ${paths}.h
    CONTENT "// NOLINTBEGIN: names like those of macros
#ifdef __cplusplus
extern \"C\" {
#endif
${declarations}#ifdef __cplusplus
}
#endif
// NOLINTEND
")
  file(GENERATE OUTPUT ${paths}.c CONTENT "${definitions}")
  set_source_files_properties(${paths}.c PROPERTIES GENERATED TRUE)
  target_sources(${target} PRIVATE ${paths}.c)
  target_compile_options(${target} PRIVATE "SHELL:-include ${paths}.h")
endfunction()

# torchlean_add_benchmark(<name> SOURCES <file>... [LIBRARIES <target>...])
# A Google Benchmark program <build>/bench/bin/<name>, which `./dev bench` runs.
function(torchlean_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE torchlean_headers torchlean_build_options ${arg_LIBRARIES}
    benchmark::benchmark)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/bin
    BUILD_WITH_INSTALL_RPATH OFF INSTALL_RPATH "")
endfunction()
