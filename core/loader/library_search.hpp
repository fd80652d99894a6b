// Where the dynamic loader would find a library that a file needs, without opening any.
#pragma once

#include "loader/elf.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace torchlean {

/// The file of a shared object that this process has mapped and whose file name or SONAME is
/// `soname`; empty if there is none.
std::filesystem::path find_mapped_library(std::string_view soname);

/// The file that the dynamic loader would take for `soname` when it opens the file of `facts`,
/// searching in its order: what the process has mapped, DT_RPATH, LD_LIBRARY_PATH (not with raised
/// privileges), DT_RUNPATH, the loader's cache, the program's own DT_RPATH and the system's
/// folders. Empty if none has it. A name with a slash is itself the path. Files are looked for, not
/// opened. Not imitated, being rare: glibc-hwcaps subfolders of run paths, `$LIB` and `$PLATFORM`
/// there, and an LD_LIBRARY_PATH changed since the process started, which the dynamic loader does
/// not see.
std::filesystem::path resolve_library(const ElfFacts &facts, std::string_view soname);

/// The needed libraries of `facts` that resolve_library() does not find, in the file's order. The
/// needs of those that it finds are not looked at.
std::vector<std::string> missing_libraries(const ElfFacts &facts);

}  // namespace torchlean
