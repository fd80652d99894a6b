# What a build can be told, and the record of the parts that it leaves out.
include_guard(GLOBAL)

set(TORCHLEAN_LIBTORCH "$ENV{TORCHLEAN_LIBTORCH}" CACHE STRING
    "LibTorch folder that holds include/ and lib/ (empty or OFF: no libtorch backend)")
set(TORCHLEAN_CUDA AUTO CACHE STRING "Build cuda-native with nvcc: AUTO, ON or OFF")
set_property(CACHE TORCHLEAN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TORCHLEAN_LEAN_RUNTIME "" CACHE STRING
    "Folder that holds libleanshared.so (empty: no tests in a real Lean process)")
option(TORCHLEAN_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TORCHLEAN_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(TORCHLEAN_UNITY "Compile several sources with large headers at once" ON)
option(TORCHLEAN_WERROR "Treat warnings as errors" OFF)
set(TORCHLEAN_SANITIZE "" CACHE STRING
    "Sanitizer: empty, address (with undefined behaviour) or thread")
set_property(CACHE TORCHLEAN_SANITIZE PROPERTY STRINGS "" address thread)
if(NOT TORCHLEAN_SANITIZE MATCHES "^(address|thread|)$")
  message(FATAL_ERROR "TORCHLEAN_SANITIZE is '${TORCHLEAN_SANITIZE}'; allowed: empty, address, thread")
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Paths relative to the source folder let two clones share cached objects.
find_program(CCACHE_PROGRAM ccache)
if(PROJECT_IS_TOP_LEVEL AND CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
               ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# torchlean_left_out(<part> <reason>): says once, visibly, that a part is not built.
function(torchlean_left_out part reason)
  message(STATUS "torchlean: ${part} left out: ${reason}")
  set_property(GLOBAL APPEND PROPERTY TORCHLEAN_LEFT_OUT "${part} left out: ${reason}")
endfunction()

# Writes the parts left out to <build>/left-out.txt, one a line, for ./dev to repeat.
function(torchlean_report_left_out)
  get_property(lines GLOBAL PROPERTY TORCHLEAN_LEFT_OUT)
  list(JOIN lines "\n" text)
  if(text)
    string(APPEND text "\n")
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/left-out.txt CONTENT "${text}" @ONLY)
endfunction()
