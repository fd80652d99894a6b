# cmake -DFIND=<FindLibTorch.cmake> -DFOLDER=<scratch> -P oldest_test.cmake
# A LibTorch that is too old is refused by its version, without another look at it.
file(WRITE ${FOLDER}/lib/libtorch_cpu.so "")
file(WRITE ${FOLDER}/lib/libc10.so "")
file(WRITE ${FOLDER}/include/ATen/ATen.h "")
file(WRITE ${FOLDER}/include/torch/csrc/api/include/torch/version.h
  "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 8\n#define TORCH_VERSION_PATCH 1\n")
set(TORCHLEAN_LIBTORCH ${FOLDER})
include(${FIND})
if(LibTorch_FOUND OR NOT LibTorch_REASON STREQUAL
                     "It is LibTorch 2.8.1, the oldest that works is 2.9.0. ")
  message(FATAL_ERROR "found: ${LibTorch_FOUND}, reason: ${LibTorch_REASON}")
endif()
