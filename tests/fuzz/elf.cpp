// Any bytes as a shared object: the reader gives facts or a reason (rule L3).
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "loader/elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const int file = memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, static_cast<off_t>(size)) != 0) std::abort();
  if (pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  const torchlean::ElfInspection inspection = torchlean::inspect_elf(path);
  if (inspection.facts.has_value() != inspection.reason.empty()) std::abort();
  return 0;
}
