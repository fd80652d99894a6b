// Tests of core/loader/elf.hpp: what is read from shared objects, and that no file content harms.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "loader/elf.hpp"
#include "torchlean/backend_note.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using torchlean::ElfFacts;
using torchlean::ElfInspection;
using torchlean::inspect_elf;

namespace {

std::string bytes_of(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file in memory whose content the test changes.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string &bytes) : descriptor_(::memfd_create("elf_test", 0)) {
    write(0, bytes);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  void write(std::size_t offset, const std::string &bytes) {
    const auto written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    REQUIRE(written == static_cast<ssize_t>(bytes.size()));
  }
  void truncate(std::size_t size) {
    REQUIRE(::ftruncate(descriptor_, static_cast<off_t>(size)) == 0);
  }
  fs::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

ElfInspection inspect_bytes(const std::string &bytes) {
  return inspect_elf(MemoryFile(bytes).path());
}

bool is_clear(const ElfInspection &inspection) {
  return inspection.facts.has_value() == inspection.reason.empty();
}

ElfFacts facts_of(const fs::path &path) {
  const ElfInspection inspection = inspect_elf(path);
  INFO(path.string(), ": ", inspection.reason);
  REQUIRE(inspection.facts.has_value());
  return *inspection.facts;
}

template <class Field>
void patch(std::string &bytes, std::size_t offset, Field value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Program header `index` of an ELF file.
Elf64_Phdr segment_of(const std::string &bytes, std::size_t index) {
  Elf64_Phdr segment{};
  std::memcpy(&segment, bytes.data() + sizeof(Elf64_Ehdr) + index * sizeof segment, sizeof segment);
  return segment;
}

std::size_t index_of_segment(const std::string &bytes, Elf64_Word type) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  REQUIRE(header.e_phoff == sizeof header);
  std::size_t index = 0;
  while (index < header.e_phnum && segment_of(bytes, index).p_type != type) ++index;
  REQUIRE(index < header.e_phnum);
  return index;
}

// Where the file's last loadable byte ends.
std::uint64_t loadable_end(const std::string &bytes) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const Elf64_Phdr segment = segment_of(bytes, i);
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

// The DT_NEEDED names that binutils lists.
std::vector<std::string> needed_by_readelf(const fs::path &path) {
  const std::string command = std::string("LC_ALL=C " READELF " -dW '") + path.string() + "'";
  FILE *pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::vector<std::string> names;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text = line;
    const auto open = text.find('[');
    if (text.find("(NEEDED)") == std::string::npos || open == std::string::npos) continue;
    names.push_back(text.substr(open + 1, text.find(']') - open - 1));
  }
  REQUIRE(::pclose(pipe) == 0);
  return names;
}

// The file of a library that this process has mapped.
fs::path mapped_file(const std::string &name) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    const auto slash = line.find('/');
    if (slash != std::string::npos && line.find("/" + name) != std::string::npos) {
      return line.substr(slash);
    }
  }
  FAIL("not mapped: ", name);
  return {};
}

}  // namespace

TEST_CASE("a backend written in C states its facts") {
  const ElfFacts facts = facts_of(ELF_FIXTURE);
  CHECK(facts.soname == "libelf_fixture.so");
  CHECK(facts.build_id == "0123456789abcdef");
  CHECK(facts.has_entry);
  REQUIRE(facts.note.has_value());
  CHECK(facts.note->abi_version == 7);
  CHECK(facts.note->flags == (TL_NOTE_NEEDS_NVIDIA_DRIVER | TL_NOTE_TEST_ONLY));
  CHECK(facts.note->name == "fixture-c");
  CHECK(facts.note->built_for == "Fixture 1.2");
  CHECK(facts.note->library == "libelf_neighbour.so");
  CHECK(facts.note->library_build_id == "00ff17");
}

TEST_CASE(
    "a backend written in C++ with the older hash table, optimised at link time and stripped "
    "states its facts") {
  const ElfFacts facts = facts_of(ELF_FIXTURE_OLD);
  CHECK(facts.has_entry);
  REQUIRE(facts.note.has_value());
  CHECK(facts.note->name == "fixture_cpp");
  CHECK(facts.note->flags == TL_NOTE_CXX_RUNTIME);
  CHECK(facts.note->built_for.empty());
}

TEST_CASE("a library that only calls the entry point does not have it") {
  const ElfFacts facts = facts_of(ELF_NEIGHBOUR);
  CHECK_FALSE(facts.has_entry);
  CHECK_FALSE(facts.note.has_value());
}

TEST_CASE("needed libraries are those that readelf lists") {
  const fs::path libraries[] = {ELF_FIXTURE, ELF_FIXTURE_OLD, mapped_file("libc.so"),
                                mapped_file("libm.so")};
  for (const fs::path &library : libraries) {
    CAPTURE(library.string());
    const auto needed = facts_of(library).needed;
    CHECK(needed == needed_by_readelf(library));
    CHECK_FALSE(needed.empty());
  }
}

TEST_CASE("$ORIGIN in a run path is the folder of the inspected path") {
  const std::string folder = fs::path(ELF_FIXTURE).parent_path().string();
  const ElfFacts facts = facts_of(ELF_FIXTURE);
  CHECK(facts.run_path == std::vector<std::string>{folder, folder + "/../lib", "/opt/torchlean"});
  CHECK_FALSE(facts.run_path_first);

  const ElfFacts old = facts_of(ELF_FIXTURE_OLD);
  CHECK(old.run_path == std::vector<std::string>{"/nowhere"});
  CHECK(old.run_path_first);

  const fs::path before = fs::current_path();
  fs::current_path(folder);
  CHECK(facts_of("libelf_fixture.so").run_path.front() == folder);
  fs::current_path(before);
}

TEST_CASE("${ORIGIN} in a run path is the same as $ORIGIN") {
  std::string bytes = bytes_of(ELF_FIXTURE);
  const std::string plain = "$ORIGIN/../lib", braces = "${ORIGIN}/beta";
  const std::size_t at = bytes.find(plain);
  REQUIRE(at != std::string::npos);
  REQUIRE(plain.size() == braces.size());
  bytes.replace(at, plain.size(), braces);
  const ElfInspection inspection = inspect_bytes(bytes);
  REQUIRE(inspection.facts.has_value());
  CHECK(inspection.facts->run_path.at(1) == "/proc/self/fd/beta");  // where a MemoryFile lies
}

TEST_CASE("section headers are not needed") {
  std::string bytes = bytes_of(ELF_FIXTURE);
  patch(bytes, offsetof(Elf64_Ehdr, e_shoff), Elf64_Off{0});
  patch(bytes, offsetof(Elf64_Ehdr, e_shnum), Elf64_Half{0});
  patch(bytes, offsetof(Elf64_Ehdr, e_shstrndx), Elf64_Half{0});
  bytes.resize(loadable_end(bytes));
  const ElfInspection inspection = inspect_bytes(bytes);
  REQUIRE(inspection.facts.has_value());
  CHECK(inspection.facts->has_entry);
  CHECK(inspection.facts->note.has_value());
}

TEST_CASE("L3: what is no file of this kind is named as what it is") {
  CHECK(inspect_bytes("").reason == "an empty file");
  CHECK(inspect_bytes("#!/bin/sh\necho hello\n").reason == "not an ELF file");
  CHECK(inspect_bytes("\x7f").reason == "not an ELF file");
  CHECK(inspect_bytes("\x7f"
                      "ELF")
            .reason == "truncated: the file has 4 bytes, its ELF header ends at 64");
  CHECK(inspect_elf("/").reason == "a folder");
  CHECK(inspect_elf("/nonexistent/file.so").reason == "cannot be read: No such file or directory");
  CHECK(inspect_elf("/dev/null").reason == "not a regular file");
  CHECK(inspect_elf("/proc/self/exe").reason == "a program, not a shared object");
}

TEST_CASE("L3: a named pipe is not opened") {
  const fs::path pipe =
      fs::temp_directory_path() / ("torchlean_elf_test." + std::to_string(::getpid()));
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(inspect_elf(pipe).reason == "not a regular file");
  fs::remove(pipe);
}

TEST_CASE("L3: a shared object for another machine is named as such") {
  const std::string good = bytes_of(ELF_FIXTURE);
  const auto reason_with = [&good](std::size_t offset, auto value) {
    std::string bytes = good;
    patch(bytes, offset, value);
    return inspect_bytes(bytes).reason;
  };
  Elf64_Ehdr header{};
  std::memcpy(&header, good.data(), sizeof header);
  const bool on_x86 = header.e_machine == EM_X86_64;
  const std::string foreign = on_x86 ? "aarch64" : "x86-64";
  const std::string own = on_x86 ? "x86-64" : "aarch64";
  const std::size_t machine = offsetof(Elf64_Ehdr, e_machine);
  CHECK(reason_with(machine, on_x86 ? Elf64_Half{EM_AARCH64} : Elf64_Half{EM_X86_64}) ==
        "built for " + foreign + ", this process is " + own);
  CHECK(reason_with(machine, Elf64_Half{999}) ==
        "built for machine number 999, this process is " + own);
  CHECK(reason_with(EI_CLASS, char{ELFCLASS32}) == "32-bit, this process is 64-bit");
  CHECK(reason_with(EI_DATA, char{ELFDATA2MSB}) == "not little-endian, which this process is");
  const std::size_t type = offsetof(Elf64_Ehdr, e_type);
  CHECK(reason_with(type, Elf64_Half{ET_EXEC}) == "a program, not a shared object");
  CHECK(reason_with(type, Elf64_Half{ET_REL}) == "an object file that was not linked");
  CHECK(reason_with(type, Elf64_Half{ET_CORE}) == "not a shared object");
}

TEST_CASE("L3: every truncation of a shared object is recognised") {
  const std::string good = bytes_of(ELF_FIXTURE);
  const std::uint64_t end = loadable_end(good);
  MemoryFile file(good);
  CHECK(inspect_elf(file.path()).facts.has_value());
  for (std::size_t size = (good.size() - 1) / 64 * 64;; size -= 64) {
    CAPTURE(size);
    file.truncate(size);
    const ElfInspection inspection = inspect_elf(file.path());
    CHECK(is_clear(inspection));
    CHECK(inspection.facts.has_value() == (size >= end));
    if (size == 0) break;
    if (size < end) {
      CHECK(inspection.reason.find("truncated: the file has " + std::to_string(size) + " bytes") ==
            0);
    }
  }
}

TEST_CASE("L3: a truncated file names where it should end") {
  std::string bytes = bytes_of(ELF_FIXTURE);
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto headers_end = sizeof header + header.e_phnum * sizeof(Elf64_Phdr);
  bytes.resize(100);
  CHECK(inspect_bytes(bytes).reason ==
        "truncated: the file has 100 bytes, its program headers end at " +
            std::to_string(headers_end));
}

TEST_CASE("L3: offsets and lengths near the end of the number range are recognised") {
  const std::string good = bytes_of(ELF_FIXTURE);
  const std::size_t load =
      sizeof(Elf64_Ehdr) + index_of_segment(good, PT_LOAD) * sizeof(Elf64_Phdr);
  const std::size_t dynamic =
      sizeof(Elf64_Ehdr) + index_of_segment(good, PT_DYNAMIC) * sizeof(Elf64_Phdr);
  const std::size_t note =
      sizeof(Elf64_Ehdr) + index_of_segment(good, PT_NOTE) * sizeof(Elf64_Phdr);
  const std::size_t fields[] = {offsetof(Elf64_Ehdr, e_phoff),
                                load + offsetof(Elf64_Phdr, p_offset),
                                load + offsetof(Elf64_Phdr, p_filesz),
                                load + offsetof(Elf64_Phdr, p_memsz),
                                load + offsetof(Elf64_Phdr, p_vaddr),
                                dynamic + offsetof(Elf64_Phdr, p_vaddr),
                                dynamic + offsetof(Elf64_Phdr, p_filesz),
                                note + offsetof(Elf64_Phdr, p_offset),
                                note + offsetof(Elf64_Phdr, p_filesz)};
  const std::uint64_t values[] = {
      0, 1, 1u << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 4096};
  for (const std::size_t field : fields) {
    for (const std::uint64_t value : values) {
      CAPTURE(field);
      CAPTURE(value);
      std::string bytes = good;
      patch(bytes, field, value);
      CHECK(is_clear(inspect_bytes(bytes)));
    }
  }
}

TEST_CASE("L3: every entry of the dynamic section may hold any number") {
  const std::string good = bytes_of(ELF_FIXTURE);
  const Elf64_Phdr dynamic = segment_of(good, index_of_segment(good, PT_DYNAMIC));
  for (std::uint64_t at = 0; at < dynamic.p_filesz; at += 8) {
    for (const std::uint64_t value :
         {std::uint64_t{1}, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      CAPTURE(at);
      CAPTURE(value);
      std::string bytes = good;
      patch(bytes, dynamic.p_offset + at, value);
      CHECK(is_clear(inspect_bytes(bytes)));
    }
  }
}

TEST_CASE("L3: ten thousand damaged files give facts or a reason") {
  for (const char *path : {ELF_FIXTURE, ELF_FIXTURE_OLD}) {
    const std::string good = bytes_of(path);
    MemoryFile file(good);
    std::mt19937 random(20240607);
    for (int round = 0; round < 5000; ++round) {
      // Half of the damage falls on the headers and tables at the beginning.
      const std::size_t range =
          round % 2 == 0 ? good.size() : std::min<std::size_t>(4096, good.size());
      std::size_t places[3];
      for (std::size_t &place : places) {
        place = random() % range;
        file.write(place, std::string(1, static_cast<char>(random())));
      }
      const bool clear = is_clear(inspect_elf(file.path()));
      for (const std::size_t place : places) file.write(place, good.substr(place, 1));
      CAPTURE(round);
      REQUIRE(clear);
    }
    CHECK(inspect_elf(file.path()).facts.has_value());
  }
}

TEST_CASE("a note that is malformed counts as none") {
  const std::string good = bytes_of(ELF_FIXTURE);
  const std::size_t at = good.find(std::string("TorchLean\0", 10)) + 12;
  REQUIRE(at < good.size());
  const auto note_with = [&](std::size_t offset, auto value) {
    std::string bytes = good;
    patch(bytes, at + offset, value);
    const ElfInspection inspection = inspect_bytes(bytes);
    REQUIRE(inspection.facts.has_value());
    return inspection.facts->note;
  };
  CHECK_FALSE(note_with(offsetof(tl_backend_note, note_version), std::uint32_t{0}).has_value());
  CHECK_FALSE(note_with(offsetof(tl_backend_note, name), '\0').has_value());
  CHECK_FALSE(note_with(offsetof(tl_backend_note, name), '/').has_value());
  CHECK(note_with(offsetof(tl_backend_note, note_version), std::uint32_t{2}).has_value());
  const auto odd = note_with(offsetof(tl_backend_note, built_for), '\x1b');
  REQUIRE(odd.has_value());
  CHECK(odd->built_for == "?ixture 1.2");
}
