# Everything that is not ours, as targets. Required parts stop the configuration with the package
# to install; optional ones are left out with one line.
include_guard(GLOBAL)

# torchlean_require_header(<header> <Debian package>)
function(torchlean_require_header header package)
  string(MAKE_C_IDENTIFIER "TORCHLEAN_HAVE_${header}" variable)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "torchlean: ${header} not found; on Debian: apt-get install ${package}")
  endif()
endfunction()

torchlean_require_header(boost/dll/shared_library.hpp libboost-dev)
torchlean_require_header(boost/context/detail/fcontext.hpp libboost-context-dev)
torchlean_require_header(spdlog/spdlog.h libspdlog-dev)
torchlean_require_header(fmt/format.h libfmt-dev)
torchlean_require_header(CLI/CLI.hpp libcli11-dev)
torchlean_require_header(nlohmann/json.hpp nlohmann-json3-dev)
torchlean_require_header(mpfr.h libmpfr-dev)
torchlean_require_header(hwy/highway.h libhwy-dev)

# fmt as a static library of our own; not instrumented by sanitizers, since it is not our code.
add_library(torchlean_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cpp)
target_compile_features(torchlean_fmt PUBLIC cxx_std_20)
set_target_properties(torchlean_fmt PROPERTIES
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

# spdlog is header-only: a shared one would bring its own libstdc++ into a Lean process.
add_library(torchlean_logging INTERFACE)
target_compile_definitions(torchlean_logging INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(torchlean_logging INTERFACE torchlean_fmt)

# Boost.DLL on std::filesystem and std::error_code.
add_library(torchlean_dll INTERFACE)
target_compile_definitions(torchlean_dll INTERFACE BOOST_DLL_USE_STD_FS)
target_link_libraries(torchlean_dll INTERFACE ${CMAKE_DL_LIBS})

# Fibers: the static library, since the backend that uses it needs no shared C++ library.
find_library(TORCHLEAN_BOOST_CONTEXT NAMES libboost_context.a)
mark_as_advanced(TORCHLEAN_BOOST_CONTEXT)
if(NOT TORCHLEAN_BOOST_CONTEXT)
  message(FATAL_ERROR "torchlean: libboost_context.a not found; on Debian: "
                      "apt-get install libboost-context-dev")
endif()

add_library(torchlean_mpfr INTERFACE)
target_link_libraries(torchlean_mpfr INTERFACE mpfr gmp)

find_package(Threads REQUIRED)

if(TORCHLEAN_TESTS)
  torchlean_require_header(doctest/doctest.h doctest-dev)
endif()

if(TORCHLEAN_BENCH)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    torchlean_left_out("benchmarks" "Google Benchmark not found (Debian: libbenchmark-dev)")
    set(TORCHLEAN_BENCH OFF)
  endif()
endif()

if(NOT TORCHLEAN_LIBTORCH)
  torchlean_left_out("libtorch backend" "TORCHLEAN_LIBTORCH='${TORCHLEAN_LIBTORCH}' names no folder")
else()
  find_package(LibTorch)
  if(NOT LibTorch_FOUND) # a folder was named, so going on without it would surprise
    message(FATAL_ERROR "torchlean: no usable LibTorch in TORCHLEAN_LIBTORCH=${TORCHLEAN_LIBTORCH}: "
                        "${LibTorch_REASON}")
  endif()
endif()

# Sets TORCHLEAN_CUDA_FOUND and TORCHLEAN_NVCC, and finds the toolkit that this nvcc belongs to.
set(TORCHLEAN_CUDA_FOUND FALSE)
if(NOT TORCHLEAN_CUDA)
  torchlean_left_out("cuda-native backend" "TORCHLEAN_CUDA=${TORCHLEAN_CUDA}")
else()
  find_program(TORCHLEAN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
               PATH_SUFFIXES bin)
  mark_as_advanced(TORCHLEAN_NVCC)
  set(missing "nvcc")
  if(TORCHLEAN_NVCC)
    get_filename_component(CUDAToolkit_ROOT ${TORCHLEAN_NVCC} REALPATH)
    get_filename_component(CUDAToolkit_ROOT ${CUDAToolkit_ROOT}/../.. ABSOLUTE)
    find_package(CUDAToolkit QUIET)
    set(missing "")
    foreach(header cuda_runtime_api.h cublas_v2.h cufft.h) # the libraries are needed at run time
      if(NOT CUDAToolkit_INCLUDE_DIRS OR NOT EXISTS ${CUDAToolkit_INCLUDE_DIRS}/${header})
        list(APPEND missing ${header})
      endif()
    endforeach()
    if(NOT TARGET CUDA::cudart_static)
      list(APPEND missing libcudart_static.a)
    endif()
    if(CUDAToolkit_VERSION AND CUDAToolkit_VERSION VERSION_LESS 13)
      list(APPEND missing "version 13 (this is ${CUDAToolkit_VERSION})")
    endif()
    list(JOIN missing ", " missing)
  endif()
  if(NOT missing)
    set(TORCHLEAN_CUDA_FOUND TRUE)
  elseif(TORCHLEAN_CUDA STREQUAL "AUTO")
    torchlean_left_out("cuda-native backend" "not found in a CUDA Toolkit: ${missing}")
  else()
    message(FATAL_ERROR "torchlean: TORCHLEAN_CUDA=${TORCHLEAN_CUDA}, but not found in a CUDA "
                        "Toolkit: ${missing}")
  endif()
endif()

# Imported target Lean::shared, when a Lean runtime is at hand.
set(TORCHLEAN_LEAN_RUNTIME_FOUND FALSE)
if(NOT TORCHLEAN_LEAN_RUNTIME)
  torchlean_left_out("tests in a real Lean process" "TORCHLEAN_LEAN_RUNTIME names no folder")
elseif(NOT EXISTS ${TORCHLEAN_LEAN_RUNTIME}/libleanshared.so)
  message(FATAL_ERROR "torchlean: no libleanshared.so in TORCHLEAN_LEAN_RUNTIME=${TORCHLEAN_LEAN_RUNTIME}")
else()
  set(TORCHLEAN_LEAN_RUNTIME_FOUND TRUE)
  add_library(Lean::shared SHARED IMPORTED GLOBAL)
  set_target_properties(Lean::shared PROPERTIES
    IMPORTED_LOCATION ${TORCHLEAN_LEAN_RUNTIME}/libleanshared.so)
endif()
