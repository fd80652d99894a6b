# Finds LibTorch in TORCHLEAN_LIBTORCH without running its own package files, which fail for a
# CUDA build on a machine without a driver.
#
#   LibTorch_FOUND, LibTorch_REASON (why not)
#   LibTorch_VERSION       2.15.0
#   LibTorch_BUILD_ID      GNU build id of libtorch_cpu.so as hex, empty if it has none
#   LibTorch_CXX11_ABI     1 or 0: the _GLIBCXX_USE_CXX11_ABI that it was built with
#   LibTorch_RUNTIME_DIRS  folders that the loader must know: lib/, and that of libcudart, libcupti
#   LibTorch_CUDA_NEEDS    libraries that its CUDA half needs beside its own, separated by spaces;
#                          empty where it was built for the host alone
#   LibTorch_CUDA_FRACTION 1 where the CUDA allocator is known to have setMemoryFraction at the place
#                          that backends/libtorch/cuda.cpp expects
#   LibTorch::cpu          headers, torch_cpu, c10

set(LibTorch_REASON "")
set(LibTorch_VERSION "")
set(LibTorch_BUILD_ID "")
set(LibTorch_CXX11_ABI 0)
get_filename_component(_torch ${TORCHLEAN_LIBTORCH} ABSOLUTE)
set(_cpu ${_torch}/lib/libtorch_cpu.so)
set(_c10 ${_torch}/lib/libc10.so)
foreach(_file ${_cpu} ${_c10} ${_torch}/include/ATen/ATen.h)
  if(NOT EXISTS ${_file})
    string(APPEND LibTorch_REASON "${_file} does not exist. ")
  endif()
endforeach()

# The version moved to headeronly/ in 2.10 or so; older ones have it in the C++ frontend.
foreach(_header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(NOT LibTorch_VERSION AND EXISTS ${_torch}/include/${_header})
    file(STRINGS ${_torch}/include/${_header} _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^;]*TORCH_VERSION_[A-Z]+ +([0-9]+)[^;]*" "\\1" _numbers "${_lines}")
    string(REPLACE ";" "." LibTorch_VERSION "${_numbers}")
  endif()
endforeach()
if(NOT LibTorch_VERSION)
  string(APPEND LibTorch_REASON "No version header below ${_torch}/include. ")
endif()

# Older ones lack what backends/libtorch asks c10 for (CachingDeviceAllocator.h).
set(LibTorch_OLDEST 2.9.0)
if(LibTorch_VERSION AND LibTorch_VERSION VERSION_LESS LibTorch_OLDEST)
  string(APPEND LibTorch_REASON
         "It is LibTorch ${LibTorch_VERSION}, the oldest that works is ${LibTorch_OLDEST}. ")
endif()

if(NOT LibTorch_REASON)
  execute_process(COMMAND ${CMAKE_READELF} -dnW ${_cpu} OUTPUT_VARIABLE _elf ERROR_QUIET)
  if(_elf MATCHES "Build ID: ([0-9a-f]+)")
    set(LibTorch_BUILD_ID ${CMAKE_MATCH_1})
  endif()
  file(STRINGS ${_c10} _cxx11 REGEX "NSt7__cxx1112basic_string" LIMIT_COUNT 1)
  if(_cxx11)
    set(LibTorch_CXX11_ABI 1)
  endif()

  # A CUDA build needs these two even on a host without a GPU. The toolkit has them; so have
  # NVIDIA's wheels, which unpack to nvidia/ beside torch/.
  set(LibTorch_RUNTIME_DIRS ${_torch}/lib)
  file(GLOB _wheels ${_torch}/../nvidia/*/lib)
  string(REGEX MATCHALL "lib(cudart|cupti)\\.so\\.[0-9]+" _needed "${_elf}")
  foreach(_soname ${_needed})
    find_file(LibTorch_${_soname} ${_soname} NO_CACHE
              HINTS ${_torch}/lib ${_wheels}
                    ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
              PATHS /usr/lib/x86_64-linux-gnu /usr/lib64
              PATH_SUFFIXES lib64 extras/CUPTI/lib64 lib)
    if(LibTorch_${_soname})
      get_filename_component(_folder ${LibTorch_${_soname}} DIRECTORY)
      list(APPEND LibTorch_RUNTIME_DIRS ${_folder})
    else()
      string(APPEND LibTorch_REASON "${_soname}, which libtorch_cpu.so needs, was not found. ")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES LibTorch_RUNTIME_DIRS)

  # The CUDA half is opened at run time, and finds NVIDIA's wheels by itself where they lie beside
  # torch/. What it needs is only asked for messages.
  set(LibTorch_CUDA_NEEDS "")
  foreach(_part cuda nvshmem)
    if(EXISTS ${_torch}/lib/libtorch_${_part}.so)
      execute_process(COMMAND ${CMAKE_READELF} -dW ${_torch}/lib/libtorch_${_part}.so
                      OUTPUT_VARIABLE _elf ERROR_QUIET)
      string(REGEX MATCHALL "\\[lib(cu|nccl|nv)[^]]+\\]" _needed "${_elf}")
      list(APPEND LibTorch_CUDA_NEEDS ${_needed})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES LibTorch_CUDA_NEEDS)
  string(REGEX REPLACE "[][]" "" LibTorch_CUDA_NEEDS "${LibTorch_CUDA_NEEDS}")
  string(REPLACE ";" " " LibTorch_CUDA_NEEDS "${LibTorch_CUDA_NEEDS}")
  set(LibTorch_CUDA_FRACTION 0)
  set(_allocator ${_torch}/include/c10/cuda/CUDACachingAllocator.h)
  if(EXISTS ${_allocator})
    file(READ ${_allocator} _text)
    string(REGEX REPLACE "[ \n]+" " " _text "${_text}")
    string(CONCAT _beginning
      "class CUDAAllocator : public DeviceAllocator { public: "
      "virtual void* raw_alloc(size_t nbytes) = 0; "
      "virtual void* raw_alloc_with_stream(size_t nbytes, cudaStream_t stream) = 0; "
      "virtual void raw_delete(void* ptr) = 0; "
      "virtual void init(int device_count) = 0; "
      "virtual double getMemoryFraction(c10::DeviceIndex device) = 0; "
      "virtual void setMemoryFraction(double fraction, c10::DeviceIndex device) = 0; ")
    string(FIND "${_text}" "${_beginning}" _place)
    if(NOT _place EQUAL -1)
      set(LibTorch_CUDA_FRACTION 1)
    endif()
  endif()
endif()

if(LibTorch_REASON)
  set(LibTorch_FOUND FALSE)
else()
  set(LibTorch_FOUND TRUE)
  if(NOT LibTorch_FIND_QUIETLY)
    message(STATUS "Found LibTorch ${LibTorch_VERSION}: ${_torch}")
  endif()
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::c10 SHARED IMPORTED GLOBAL)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${_c10})
  add_library(LibTorch::cpu SHARED IMPORTED GLOBAL)
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION ${_cpu}
    INTERFACE_INCLUDE_DIRECTORIES "${_torch}/include;${_torch}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS _GLIBCXX_USE_CXX11_ABI=${LibTorch_CXX11_ABI})
  target_link_libraries(LibTorch::cpu INTERFACE LibTorch::c10)
  foreach(_folder ${LibTorch_RUNTIME_DIRS})
    target_link_options(LibTorch::cpu INTERFACE LINKER:-rpath-link,${_folder})
  endforeach()
endif()
