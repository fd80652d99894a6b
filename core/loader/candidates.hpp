// Candidates: the files that may be backends, in search order, looked at but not opened.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loader/elf.hpp"

namespace torchlean {

struct Candidate {
  std::filesystem::path path;  // absolute
  std::string name;            // from its note; from its file name where there is none
  ElfInspection elf;
  std::string problem;      // why it is no backend; empty if it looks like one
  std::string shadowed_by;  // path of the earlier candidate of the same name; empty if first

  bool is_plausible() const { return problem.empty(); }
  bool has_flag(std::uint32_t flag) const {
    return elf.facts && elf.facts->note && (elf.facts->note->flags & flag) != 0;
  }
};

// Looks at one file. Never throws for what the file holds.
Candidate inspect_candidate(const std::filesystem::path &path);

// The folders that are searched: TORCHLEAN_BACKEND_PATH, beside the core, beside it in
// torchlean/backends. World-writable folders are left out, with a sentence in `refused`.
struct SearchPath {
  std::vector<std::filesystem::path> folders;
  std::vector<std::string> refused;
};
SearchPath search_path();

// All files of the search path that may be backends, sorted within each folder.
std::vector<Candidate> find_candidates(const SearchPath &where);

// The file of the core library itself.
std::filesystem::path core_path();

}  // namespace torchlean
