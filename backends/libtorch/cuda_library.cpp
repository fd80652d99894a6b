// Opening libtorch_cuda.so, and saying what keeps it from being opened.
#include "cuda_library.hpp"

#include <elf.h>
#include <unwind.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace at {
std::string get_cxx_flags();  // ATen/Version.h; any function of libtorch_cpu.so
}

namespace torchlean::libtorch::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char *remedy =
    "; on a machine with a driver `./dev setup` fetches NVIDIA's packages, which cmake/wheels.txt "
    "lists, and a Python installation of this torch has them";

fs::path folder_of_libtorch() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void *>(&at::get_cxx_flags), &info) == 0 || info.dli_fname == nullptr)
    throw Failure(TL_UNAVAILABLE, "libtorch_cpu.so was not found in this process");
  return fs::path(info.dli_fname).parent_path();
}

// Opening a file that was cut off may end the process. Sections come last in these files.
bool is_whole(const fs::path &path) {
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char *>(&header), sizeof header)) return false;
  const uint64_t end = header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && fs::file_size(path) >= end;
}

// Where libtorch_cuda.so itself looks, beside what the loader knows.
constexpr std::array own_folders = {".",
                                    "../../nvidia/cudnn/lib",
                                    "../../nvidia/nvshmem/lib",
                                    "../../nvidia/nccl/lib",
                                    "../../nvidia/cusparselt/lib",
                                    "../../nvidia/cu13/lib"};

bool is_there(const fs::path &folder, const std::string &library) {
  for (const char *own : own_folders)
    if (fs::exists(folder / own / library)) return true;
  return dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

// Of the libraries that libtorch_cuda.so and its neighbours name.
std::string missing_libraries(const fs::path &folder) {
  std::istringstream needed(TL_LIBTORCH_CUDA_NEEDS);
  std::string missing;
  for (std::string library; needed >> library;)
    if (!is_there(folder, library)) missing += (missing.empty() ? "" : ", ") + library;
  return missing;
}

// Where the process's own unwinder is another than ours, this file was bound deeply, to libgcc_s;
// so must be whatever comes with it (docs/architecture.md).
int binding() {
  void *const program = dlopen(nullptr, RTLD_LAZY);
  void *const first = dlsym(program, "_Unwind_RaiseException");
  const bool is_ours =
      first == nullptr || first == reinterpret_cast<void *>(&_Unwind_RaiseException);
  return RTLD_NOW | RTLD_LOCAL | (is_ours ? 0 : RTLD_DEEPBIND);
}

}  // namespace

Library::Library() {
  const fs::path folder = folder_of_libtorch();
  const fs::path path = folder / "libtorch_cuda.so";
  if (!fs::exists(path))
    throw Failure(TL_UNAVAILABLE, path.string() +
                                      " does not exist: this LibTorch was built for the host "
                                      "alone; build against one that was built for CUDA");
  if (!is_whole(path))
    throw Failure(TL_UNAVAILABLE, path.string() + " is truncated; install LibTorch anew");
  file_ = dlopen(path.c_str(), binding());
  if (file_ != nullptr) return;
  const std::string words = dlerror();
  const std::string missing = missing_libraries(folder);
  throw Failure(TL_UNAVAILABLE,
                words + (missing.empty() ? "" : " (not found: " + missing + ")") + remedy);
}

}  // namespace torchlean::libtorch::cuda
