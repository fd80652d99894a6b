// Whether the library that a backend was built against is the one it would load now.
#pragma once

#include <string>

#include "loader/elf.hpp"

namespace torchlean {

// Names both versions and the remedy; empty where they agree, or nothing can be said before
// opening. Compares the GNU build id where the note has one, else the version that the library's
// folder states.
std::string library_mismatch(const ElfFacts &facts);

}  // namespace torchlean
