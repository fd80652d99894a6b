// Searching folders for backends without opening any.
#include "loader/candidates.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <torchlean/backend.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "selection/variables.hpp"
#include "status/log.hpp"

namespace torchlean {
namespace {

constexpr std::string_view file_prefix = "torchlean_";

std::string name_of_file(const std::filesystem::path &path) {
  const std::string stem = path.stem().string();
  return stem.starts_with(file_prefix) ? stem.substr(file_prefix.size()) : stem;
}

std::string problem_of(const ElfInspection &elf) {
  if (!elf.facts) return elf.reason;
  if (!elf.facts->has_entry) {
    return "not a torchlean backend: it does not export torchlean_backend_entry";
  }
  if (!elf.facts->note) {
    return "not a torchlean backend: it carries no torchlean note (TL_BACKEND_NOTE)";
  }
  if (elf.facts->note->abi_version != TL_ABI_VERSION) {
    return fmt::format(
        "it is built for backend ABI {}, this core knows ABI {}; rebuild one of them",
        elf.facts->note->abi_version, TL_ABI_VERSION);
  }
  return {};
}

// Anybody could put code there that then runs as the user. A sticky bit does not help: it does not
// keep others from adding files.
bool is_world_writable(const std::filesystem::path &folder) {
  struct stat status = {};
  return stat(folder.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0;
}

}  // namespace

Candidate inspect_candidate(const std::filesystem::path &path) {
  Candidate candidate;
  candidate.path = path;
  candidate.elf = inspect_elf(path);
  candidate.problem = problem_of(candidate.elf);
  const bool has_note = candidate.elf.facts && candidate.elf.facts->note;
  candidate.name = has_note ? candidate.elf.facts->note->name : name_of_file(path);
  if (!candidate.is_plausible()) {
    log(TL_LOG_DEBUG, fmt::format("{}: {}", path.string(), candidate.problem));
  }
  return candidate;
}

std::filesystem::path core_path() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void *>(&core_path), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path(info.dli_fname) : resolved;
}

SearchPath search_path() {
  SearchPath where;
  const auto add = [&](const std::filesystem::path &folder) {
    std::error_code error;
    const std::filesystem::path resolved = std::filesystem::canonical(folder, error);
    if (error || std::count(where.folders.begin(), where.folders.end(), resolved) != 0) return;
    if (is_world_writable(resolved)) {
      where.refused.push_back(fmt::format(
          "{} is not searched: everybody may write there (chmod o-w)", resolved.string()));
      return;
    }
    where.folders.push_back(resolved);
  };
  const std::string &asked = option("TORCHLEAN_BACKEND_PATH");
  for (std::size_t start = 0; start < asked.size();) {
    const std::size_t end = std::min(asked.find(':', start), asked.size());
    if (end > start) add(asked.substr(start, end - start));
    start = end + 1;
  }
  const std::filesystem::path beside_core = core_path().parent_path();
  add(beside_core);
  add(beside_core / "torchlean" / "backends");
  return where;
}

std::vector<Candidate> find_candidates(const SearchPath &where) {
  const std::filesystem::path beside_core = core_path().parent_path();
  std::vector<Candidate> candidates;
  std::map<std::string, std::string> first_of_name;
  for (const std::filesystem::path &folder : where.folders) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(folder, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::filesystem::path &file = entry->path();
      if (file.extension() != ".so") continue;
      // Beside the core there may be any number of other libraries.
      if (folder == beside_core && !file.filename().string().starts_with(file_prefix)) continue;
      files.push_back(file);
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path &file : files) {
      Candidate candidate = inspect_candidate(file);
      if (candidate.is_plausible()) {
        const auto [first, is_first] = first_of_name.emplace(candidate.name, file.string());
        if (!is_first) candidate.shadowed_by = first->second;
      }
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

}  // namespace torchlean
