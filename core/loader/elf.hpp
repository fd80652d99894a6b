// What a file on disk says about itself as a shared object, found without mapping or running it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace torchlean {

/// The backend note of a file (see torchlean/backend_note.h). Texts come from the file: `name`
/// holds only lower-case letters, digits, '-' and '_'; in the others control characters read '?'.
struct BackendNote {
  std::uint32_t abi_version = 0;
  std::uint32_t flags = 0;  ///< TL_NOTE_…; unknown bits are kept
  std::string name;
  std::string built_for;
  std::string library;
  std::string library_build_id;
};

/// A shared object for this process's machine, complete as far as the dynamic loader maps it.
struct ElfFacts {
  std::string soname;               ///< DT_SONAME, empty if it has none
  std::vector<std::string> needed;  ///< DT_NEEDED, in the file's order
  /// Folders of DT_RUNPATH, or of DT_RPATH where there is no DT_RUNPATH; `$ORIGIN` is replaced by
  /// the folder of the inspected path (symbolic links not followed, as the dynamic loader does).
  std::vector<std::string> run_path;
  /// The folders come from DT_RPATH, which the dynamic loader searches before LD_LIBRARY_PATH.
  bool run_path_first = false;
  bool has_entry = false;  ///< `dlsym` would find a function torchlean_backend_entry in this file
  std::optional<BackendNote> note;  ///< absent also when malformed
  std::string build_id;             ///< GNU build id, lower-case hexadecimal, empty if it has none
};

/// Either `facts`, or `reason`: why the file is no shared object that this process could load, in
/// words that continue "<path>: ", such as "not an ELF file" or "built for aarch64, this process is
/// x86-64".
struct ElfInspection {
  std::optional<ElfFacts> facts;
  std::string reason;
};

/// Reads the file in bounded pieces; any content gives facts or a reason. `dlopen` maps a file
/// before it knows that it is whole, and a truncated one raises SIGBUS: hence this look beforehand.
/// It guards against incomplete and foreign files, not against ones forged to harm the dynamic
/// loader. Only regular files are opened. Callable from any thread; throws nothing but
/// std::bad_alloc.
ElfInspection inspect_elf(const std::filesystem::path &path);

}  // namespace torchlean
