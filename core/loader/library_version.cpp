// Reading a library's identity and version from the disk, before any of its code runs.
#include "loader/library_version.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "loader/library_search.hpp"

namespace torchlean {
namespace {

// A distribution states its version in a small text file one folder above its libraries:
// "build-version" as a bare line, or "version.py" as an assignment in quotes. Empty where there is
// neither.
std::string version_beside(const std::filesystem::path &library) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(library, error);
  const std::filesystem::path folder = (error ? library : resolved).parent_path().parent_path();
  std::string line;
  if (std::ifstream file(folder / "build-version"); std::getline(file, line)) return line;
  std::ifstream file(folder / "version.py");
  while (std::getline(file, line)) {
    if (!line.starts_with("__version__")) continue;
    const std::size_t start = line.find_first_of("'\"");
    if (start == std::string::npos) break;
    const std::size_t end = line.find(line[start], start + 1);
    if (end != std::string::npos) return line.substr(start + 1, end - start - 1);
  }
  return {};
}

// "2.15.0" of "LibTorch 2.15.0" and of "2.15.0+cu130".
std::string plain_version(std::string_view text) {
  const std::size_t space = text.rfind(' ');
  if (space != std::string_view::npos) text.remove_prefix(space + 1);
  return std::string(text.substr(0, text.find('+')));
}

}  // namespace

std::string library_mismatch(const ElfFacts &facts) {
  if (!facts.note || facts.note->library.empty()) return {};
  const BackendNote &note = *facts.note;
  const std::filesystem::path path = resolve_library(facts, note.library);
  if (path.empty()) return {};  // the loader's own words say more about a missing library
  const std::string found_version = version_beside(path);
  const bool is_other_version =
      !found_version.empty() && plain_version(found_version) != plain_version(note.built_for);
  const ElfInspection found = inspect_elf(path);
  if (!found.facts && !is_other_version) {
    return fmt::format("{} cannot be used: {}; install {} anew", path.string(), found.reason,
                       note.built_for);
  }
  const bool agrees = note.library_build_id.empty()
                          ? !is_other_version
                          : found.facts && found.facts->build_id == note.library_build_id;
  if (agrees) return {};
  return fmt::format(
      "built for {}, but {} is {}; rebuild the backend against it, or put the folder of {} first",
      note.built_for, path.string(),
      found_version.empty() ? std::string("another build of it") : "version " + found_version,
      note.built_for);
}

}  // namespace torchlean
