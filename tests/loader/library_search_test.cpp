// Tests of core/loader/library_search.hpp and ld_cache.hpp: libraries are found where the dynamic
// loader finds them, and without opening them.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "loader/elf.hpp"
#include "loader/ld_cache.hpp"
#include "loader/library_search.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace torchlean;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_flags = 0x0303;
#else
constexpr std::uint32_t own_flags = 0x0a03;
#endif
constexpr std::uint32_t foreign_flags = 0x0003;  // 32-bit x86

void append(std::string &bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
}

struct CacheLine {
  std::uint32_t flags;
  std::uint64_t hwcap;
  std::string soname, path;
};

// A loader cache in glibc's format (sysdeps/generic/dl-cache.h).
std::string make_cache(const std::vector<CacheLine> &lines) {
  std::string strings;
  std::string entries;
  const std::size_t strings_at = 48 + 24 * lines.size();
  for (const CacheLine &line : lines) {
    append(entries, line.flags, 4);
    append(entries, strings_at + strings.size(), 4);
    append(entries, strings_at + strings.size() + line.soname.size() + 1, 4);
    append(entries, 0, 4);
    append(entries, line.hwcap, 8);
    strings += line.soname + '\0' + line.path + '\0';
  }
  std::string cache = "glibc-ld.so.cache1.1";
  append(cache, lines.size(), 4);
  append(cache, strings.size(), 4);
  cache.resize(48, '\0');
  return cache + entries + strings;
}

const std::vector<CacheLine> some_lines = {
    {foreign_flags, 0, "liba.so.1", "/lib32/liba.so.1"},
    {own_flags, std::uint64_t{1} << 62, "liba.so.1", "/fast/liba.so.1"},
    {own_flags, 0, "liba.so.1", "/lib/liba.so.1"},
    {own_flags, std::uint64_t{1} << 62, "libb.so.1", "/fast/libb.so.1"},
    {foreign_flags, 0, "libc32.so.1", "/lib32/libc32.so.1"},
};

ElfFacts facts_with(std::vector<std::string> run_path, bool first,
                    std::vector<std::string> needed) {
  ElfFacts facts;
  facts.run_path = std::move(run_path);
  facts.run_path_first = first;
  facts.needed = std::move(needed);
  return facts;
}

// A path of this process's own in the temporary folder.
fs::path temporary(const std::string &name) {
  return fs::temp_directory_path() / (name + "." + std::to_string(::getpid()));
}

const std::string fixture_folder = fs::path(ELF_NEIGHBOUR).parent_path().string();

}  // namespace

TEST_CASE("the cache gives this machine's library, for every processor before newer ones") {
  const std::string cache = make_cache(some_lines);
  CHECK(find_in_cache(cache, "liba.so.1") == "/lib/liba.so.1");
  CHECK(find_in_cache(cache, "libb.so.1") == "/fast/libb.so.1");
  CHECK(find_in_cache(cache, "libc32.so.1").empty());
  CHECK(find_in_cache(cache, "liba.so").empty());
  CHECK(find_in_cache(cache, "").empty());
}

TEST_CASE("a cache that begins with the older format is read") {
  std::string older = "ld.so-1.7.0";
  older += '\0';
  append(older, 3, 4);
  older.resize(16 + 3 * 12 + 4, '\0');  // three entries, then up to a multiple of eight
  CHECK(find_in_cache(older + make_cache(some_lines), "liba.so.1") == "/lib/liba.so.1");
  CHECK(find_in_cache(older, "liba.so.1").empty());
}

TEST_CASE("a damaged cache does no harm") {
  const std::string good = make_cache(some_lines);
  for (std::size_t size = 0; size < good.size(); ++size) {
    find_in_cache(std::string(good.data(), size), "liba.so.1");
  }
  std::mt19937 random(1);
  for (int round = 0; round < 10000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const std::string found = find_in_cache(bytes, "liba.so.1");
    CHECK(found.size() < bytes.size());
  }
  CHECK(find_in_cache("no cache at all", "liba.so.1").empty());
}

TEST_CASE("the system's cache is asked without opening what it names") {
  CHECK_FALSE(loader_cache_has("libtorchlean_absent.so.1"));
  if (!read_loader_cache().empty()) CHECK(loader_cache_has("libc.so.6"));
}

TEST_CASE("a mapped library is found by file name and by SONAME") {
  CHECK(fs::exists(find_mapped_library("libc.so.6")));
  CHECK(find_mapped_library("libtorchlean_absent.so.1").empty());
  CHECK(find_mapped_library("").empty());

  const fs::path copy = temporary("torchlean_renamed_copy");
  fs::copy_file(ELF_FIXTURE_OLD, copy, fs::copy_options::overwrite_existing);
  // The copy finds its need among what is mapped.
  void *neighbour = ::dlopen(ELF_NEIGHBOUR, RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(neighbour != nullptr);
  void *renamed = ::dlopen(copy.c_str(), RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(renamed != nullptr);
  CHECK(find_mapped_library("libelf_fixture_old.so") == copy);
  ::dlclose(renamed);
  ::dlclose(neighbour);
  fs::remove(copy);
  CHECK(find_mapped_library("libelf_fixture_old.so").empty());
}

TEST_CASE("a library beside a file is found through its run path, and missing without one") {
  const ElfInspection fixture = inspect_elf(ELF_FIXTURE);
  REQUIRE(fixture.facts.has_value());
  CHECK(resolve_library(*fixture.facts, "libelf_neighbour.so") == fs::path(ELF_NEIGHBOUR));
  CHECK(missing_libraries(*fixture.facts).empty());

  const ElfInspection old = inspect_elf(ELF_FIXTURE_OLD);
  REQUIRE(old.facts.has_value());
  CHECK(resolve_library(*old.facts, "libelf_neighbour.so").empty());
  CHECK(missing_libraries(*old.facts) == std::vector<std::string>{"libelf_neighbour.so"});
}

TEST_CASE("missing libraries are listed in the file's order") {
  const auto facts = facts_with({}, false, {"libz_absent.so", "libc.so.6", "liba_absent.so"});
  CHECK(missing_libraries(facts) == std::vector<std::string>{"libz_absent.so", "liba_absent.so"});
}

TEST_CASE("a name with a slash is a path") {
  const ElfFacts facts;
  CHECK(resolve_library(facts, ELF_NEIGHBOUR) == fs::path(ELF_NEIGHBOUR));
  CHECK(resolve_library(facts, "/nonexistent/libelf_neighbour.so").empty());
}

TEST_CASE("LD_LIBRARY_PATH comes before DT_RUNPATH and after DT_RPATH") {
  const fs::path other = temporary("torchlean_library_search_test");
  fs::create_directories(other);
  fs::copy_file(ELF_NEIGHBOUR, other / "libelf_neighbour.so", fs::copy_options::overwrite_existing);
  const char *before = std::getenv("LD_LIBRARY_PATH");
  const std::string saved = before != nullptr ? before : "";
  ::setenv("LD_LIBRARY_PATH", ("/nonexistent:" + other.string()).c_str(), 1);

  const auto run_path = facts_with({fixture_folder}, false, {});
  const auto old_run_path = facts_with({fixture_folder}, true, {});
  CHECK(resolve_library(run_path, "libelf_neighbour.so") == other / "libelf_neighbour.so");
  CHECK(resolve_library(old_run_path, "libelf_neighbour.so") == fs::path(ELF_NEIGHBOUR));

  before != nullptr ? ::setenv("LD_LIBRARY_PATH", saved.c_str(), 1) : ::unsetenv("LD_LIBRARY_PATH");
  fs::remove_all(other);
}
