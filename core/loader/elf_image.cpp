// Opens a shared object on disk and checks that its segments are this machine's and all there.
#include "loader/elf_image.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

namespace torchlean {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half host_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half host_machine = EM_AARCH64;
#else
#error "core/loader/elf_image.cpp knows x86-64 and aarch64 only"
#endif

// Far above what linkers write, and small enough that a damaged file costs neither memory nor time.
constexpr std::size_t max_program_headers = 1024;

constexpr const char *unreadable = "cannot be read: it changed meanwhile, or the disk has an error";

std::uint64_t saturating_end(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  return end < offset ? std::numeric_limits<std::uint64_t>::max() : end;
}

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "aarch64";
    case EM_386: return "32-bit x86";
    case EM_ARM: return "32-bit ARM";
    case EM_PPC64: return "POWER";
    case EM_RISCV: return "RISC-V";
    case EM_S390: return "s390";
    default: return "machine number " + std::to_string(machine);
  }
}

std::string errno_problem() { return "cannot be read: " + std::generic_category().message(errno); }

}  // namespace

RegularFile::RegularFile(const std::filesystem::path &path) {
  struct stat status {};
  // Looked at before it is opened: opening a device or a pipe can have effects or block.
  if (::stat(path.c_str(), &status) != 0) {
    problem_ = errno_problem();
  } else if (S_ISDIR(status.st_mode)) {
    problem_ = "a folder";
  } else if (!S_ISREG(status.st_mode)) {
    problem_ = "not a regular file";
  } else {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) problem_ = errno_problem();
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool RegularFile::read(std::uint64_t offset, void *target, std::size_t length) const {
  if (!holds(offset, length)) return false;
  auto *bytes = static_cast<char *>(target);
  while (length > 0) {
    const ssize_t got = ::pread(descriptor_, bytes, length, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    offset += static_cast<std::uint64_t>(got);
    length -= static_cast<std::size_t>(got);
  }
  return true;
}

ElfImage::ElfImage(const std::filesystem::path &path) : file_(path), problem_(file_.problem()) {
  if (problem_.empty() && read_header()) read_segments();
}

bool ElfImage::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool ElfImage::fail_truncated(const std::string &what, std::uint64_t end) {
  return fail("truncated: the file has " + std::to_string(file_.size()) + " bytes, " + what +
              " at " + std::to_string(end));
}

bool ElfImage::read_header() {
  if (file_.size() == 0) return fail("an empty file");
  const auto present = std::min<std::uint64_t>(file_.size(), sizeof header_);
  if (!file_.read(0, &header_, static_cast<std::size_t>(present))) {
    return fail(unreadable);
  }
  if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return fail("not an ELF file");
  if (present < sizeof header_) return fail_truncated("its ELF header ends", sizeof header_);
  if (header_.e_ident[EI_CLASS] == ELFCLASS32) return fail("32-bit, this process is 64-bit");
  if (header_.e_ident[EI_CLASS] != ELFCLASS64) return fail("damaged: unknown ELF class");
  if (header_.e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail("not little-endian, which this process is");
  }
  if (header_.e_machine != host_machine) {
    return fail("built for " + machine_name(header_.e_machine) + ", this process is " +
                machine_name(host_machine));
  }
  if (header_.e_type == ET_EXEC) return fail("a program, not a shared object");
  if (header_.e_type == ET_REL) return fail("an object file that was not linked");
  if (header_.e_type != ET_DYN) return fail("not a shared object");
  return true;
}

bool ElfImage::read_segments() {
  const std::size_t count = header_.e_phnum;
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || count == 0 || count > max_program_headers) {
    return fail("damaged: its program headers are malformed");
  }
  const std::uint64_t size = count * sizeof(Elf64_Phdr);
  if (!file_.holds(header_.e_phoff, size)) {
    return fail_truncated("its program headers end", saturating_end(header_.e_phoff, size));
  }
  segments_.resize(count);
  if (!file_.read(header_.e_phoff, segments_.data(), size)) {
    return fail(unreadable);
  }

  std::uint64_t mapped_end = 0;
  for (const Elf64_Phdr &segment : segments_) {
    if (segment.p_type != PT_LOAD) continue;
    if (!file_.holds(segment.p_offset, segment.p_filesz)) {
      return fail_truncated("one of its segments ends",
                            saturating_end(segment.p_offset, segment.p_filesz));
    }
    // The dynamic loader trusts the order: it would map a stray segment over foreign memory.
    if (segment.p_filesz > segment.p_memsz || segment.p_vaddr < mapped_end ||
        segment.p_vaddr > std::numeric_limits<std::uint64_t>::max() - segment.p_memsz) {
      return fail("damaged: its segments overlap");
    }
    mapped_end = segment.p_vaddr + segment.p_memsz;
  }
  return mapped_end > 0 || fail("damaged: it has no segment to load");
}

std::optional<std::uint64_t> ElfImage::offset_of(std::uint64_t address,
                                                 std::uint64_t length) const {
  for (const Elf64_Phdr &segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const std::uint64_t inside = address - segment.p_vaddr;
    if (inside <= segment.p_filesz && length <= segment.p_filesz - inside) {
      return segment.p_offset + inside;
    }
  }
  return std::nullopt;
}

}  // namespace torchlean
