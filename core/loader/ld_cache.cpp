// Reads the dynamic loader's cache, in the format that glibc has written since 2.2.
#include "loader/ld_cache.hpp"

#include "loader/elf_image.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace torchlean {
namespace {

// glibc's sysdeps/generic/dl-cache.h. All offsets count from the header's first byte.
struct Header {
  char magic[20];
  std::uint32_t entries;
  std::uint32_t strings_size;
  std::uint8_t flags;
  std::uint8_t padding[3];
  std::uint32_t extensions;
  std::uint32_t unused[3];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t soname;
  std::uint32_t path;
  std::uint32_t os_version;
  std::uint64_t hwcap;  // 0: for every processor
};
static_assert(sizeof(Header) == 48 && sizeof(CacheEntry) == 24);

constexpr std::string_view magic = "glibc-ld.so.cache1.1";
// The older format, which ldconfig may still write in front of the newer one.
constexpr std::string_view old_magic = "ld.so-1.7.0";
constexpr std::size_t old_header_size = 16;
constexpr std::size_t old_entry_size = 12;

// "a glibc library" and the machine's own flag.
#if defined(__x86_64__)
constexpr std::int32_t host_flags = 0x0303;
#elif defined(__aarch64__)
constexpr std::int32_t host_flags = 0x0a03;
#endif

constexpr std::uint64_t max_cache_size = std::uint64_t{64} << 20;

template <class T>
bool read_at(std::string_view bytes, std::size_t offset, T &value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

// The NUL-terminated text at an offset; empty if it does not end inside.
std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(offset);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

bool text_is(std::string_view bytes, std::size_t offset, std::string_view text) {
  return offset < bytes.size() && bytes.size() - offset > text.size() &&
         bytes.substr(offset, text.size()) == text && bytes[offset + text.size()] == '\0';
}

std::string_view skip_old_format(std::string_view cache) {
  std::uint32_t entries = 0;
  if (!cache.starts_with(old_magic) || !read_at(cache, 12, entries)) return cache;
  const std::uint64_t end = old_header_size + std::uint64_t{entries} * old_entry_size;
  return cache.substr(std::min<std::uint64_t>((end + 7) & ~std::uint64_t{7}, cache.size()));
}

}  // namespace

std::string read_loader_cache() {
  const RegularFile file("/etc/ld.so.cache");
  if (!file.problem().empty() || file.size() > max_cache_size) return {};
  std::string bytes(file.size(), '\0');
  return file.read(0, bytes.data(), bytes.size()) ? bytes : std::string();
}

std::string find_in_cache(std::string_view cache, std::string_view soname) {
  cache = skip_old_format(cache);
  Header header{};
  if (soname.empty() || !cache.starts_with(magic) || !read_at(cache, 0, header)) return {};
  std::string_view found;
  CacheEntry entry{};
  for (std::uint32_t i = 0; i < header.entries; ++i) {
    if (!read_at(cache, sizeof header + i * sizeof entry, entry)) break;
    if (entry.flags != host_flags || !text_is(cache, entry.soname, soname)) continue;
    const std::string_view path = text_at(cache, entry.path);
    if (entry.hwcap == 0 && !path.empty()) return std::string(path);
    if (found.empty()) found = path;
  }
  return std::string(found);
}

bool loader_cache_has(std::string_view soname) {
  return !find_in_cache(read_loader_cache(), soname).empty();
}

}  // namespace torchlean
