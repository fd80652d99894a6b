// Imitates the dynamic loader's search for a library.
#include "loader/library_search.hpp"

#include "loader/ld_cache.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <system_error>

namespace torchlean {
namespace {

namespace fs = std::filesystem;

// The SONAME of a mapped object, read where it is mapped.
std::string_view mapped_soname(const dl_phdr_info &object) {
  const ElfW(Dyn) *entry = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto &segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    entry = reinterpret_cast<const ElfW(Dyn) *>(object.dlpi_addr + segment.p_vaddr);
  }
  std::uintptr_t strings = 0;
  const ElfW(Dyn) *soname = nullptr;
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) soname = entry;
  }
  if (strings == 0 || soname == nullptr) return {};
  // glibc relocates this address in place, except in read-only dynamic sections.
  if (strings < object.dlpi_addr) strings += object.dlpi_addr;
  return reinterpret_cast<const char *>(strings + soname->d_un.d_val);
}

struct MappedSearch {
  std::string_view soname;
  fs::path found;
};

int visit_mapped(dl_phdr_info *object, std::size_t, void *data) {
  auto &search = *static_cast<MappedSearch *>(data);
  const std::string_view file = object->dlpi_name;
  const std::size_t slash = file.rfind('/');
  if (slash == std::string_view::npos) return 0;  // the program, or the kernel's virtual object
  if (file.substr(slash + 1) != search.soname && mapped_soname(*object) != search.soname) return 0;
  search.found = file;
  return 1;
}

// Folders of an environment variable; an empty one means the current directory to the loader.
std::vector<std::string> split_folders(std::string_view text) {
  std::vector<std::string> folders;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(":;");
    const std::string_view folder = text.substr(0, end);
    folders.emplace_back(folder.empty() ? "." : folder);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return folders;
}

std::vector<std::string> environment_folders() {
  const char *text = ::secure_getenv("LD_LIBRARY_PATH");
  return split_folders(text != nullptr ? text : "");
}

// The folders that the loader searches for libc's own needs: since libc has no run path, these are
// the program's DT_RPATH, LD_LIBRARY_PATH and the system's folders, in the loader's own words.
std::vector<std::string> process_folders() {
  std::vector<std::string> folders;
  void *libc = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (libc == nullptr) return folders;
  Dl_serinfo extent{};
  if (::dlinfo(libc, RTLD_DI_SERINFOSIZE, &extent) == 0) {
    std::vector<std::max_align_t> storage(extent.dls_size / sizeof(std::max_align_t) + 2);
    auto *info = reinterpret_cast<Dl_serinfo *>(storage.data());
    *info = extent;
    if (::dlinfo(libc, RTLD_DI_SERINFO, info) == 0) {
      const Dl_serpath *path = info->dls_serpath;
      for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(path[i].dls_name);
    }
  }
  ::dlclose(libc);
  return folders;
}

fs::path find_in_folders(const std::vector<std::string> &folders, std::string_view name) {
  std::error_code ignored;
  for (const std::string &folder : folders) {
    fs::path file = fs::path(folder) / name;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return {};
}

// What does not depend on the library looked for, gathered once for a whole list of them.
struct SearchPlan {
  std::vector<std::string> before_cache;
  std::string cache = read_loader_cache();
  std::vector<std::string> after_cache = process_folders();

  explicit SearchPlan(const ElfFacts &facts) : before_cache(environment_folders()) {
    const auto place = facts.run_path_first ? before_cache.begin() : before_cache.end();
    before_cache.insert(place, facts.run_path.begin(), facts.run_path.end());
  }

  fs::path find(std::string_view name) const {
    std::error_code ignored;
    if (name.empty()) return {};
    if (name.find('/') != std::string_view::npos) {
      return fs::is_regular_file(name, ignored) ? fs::path(name) : fs::path();
    }
    if (fs::path file = find_mapped_library(name); !file.empty()) return file;
    if (fs::path file = find_in_folders(before_cache, name); !file.empty()) return file;
    if (fs::path file = find_in_cache(cache, name); fs::is_regular_file(file, ignored)) return file;
    return find_in_folders(after_cache, name);
  }
};

}  // namespace

fs::path find_mapped_library(std::string_view soname) {
  MappedSearch search{soname, {}};
  if (!soname.empty()) ::dl_iterate_phdr(visit_mapped, &search);
  return search.found;
}

fs::path resolve_library(const ElfFacts &facts, std::string_view soname) {
  return SearchPlan(facts).find(soname);
}

std::vector<std::string> missing_libraries(const ElfFacts &facts) {
  const SearchPlan plan(facts);
  std::vector<std::string> missing;
  for (const std::string &name : facts.needed) {
    if (plan.find(name).empty()) missing.push_back(name);
  }
  return missing;
}

}  // namespace torchlean
