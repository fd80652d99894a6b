// Gathers what a shared object says about itself: dynamic section, entry point, notes.
#include "loader/elf.hpp"

#include "loader/elf_image.hpp"
#include "torchlean/backend_note.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>

namespace torchlean {
namespace {

// Far above what linkers write, and small enough that a damaged file costs neither memory nor time.
constexpr std::size_t max_dynamic_entries = 4096;
constexpr std::size_t max_name_length = 4096;
constexpr std::size_t max_run_path_length = 65536;
constexpr std::size_t max_note_segment = std::size_t{1} << 20;
constexpr int max_hash_chain = 65536;

constexpr std::string_view entry_name = "torchlean_backend_entry";

// The entries of the dynamic section that matter here; addresses as in the file.
struct DynamicSection {
  std::uint64_t strings = 0;
  std::uint64_t strings_size = 0;
  std::uint64_t symbols = 0;
  std::uint64_t hash = 0;
  std::uint64_t gnu_hash = 0;
  std::uint64_t flags_1 = 0;
  std::optional<std::uint64_t> soname, rpath, runpath;  // offsets into the strings
  std::vector<std::uint64_t> needed;
};

class ElfReader {
 public:
  explicit ElfReader(const ElfImage &image) : image_(image) {}

  // Steps in order; after one that is false, reason() says why.
  bool read_dynamic_section();
  bool read_names(const std::filesystem::path &folder);
  bool find_entry();
  void read_notes();

  ElfFacts &facts() { return facts_; }
  const std::string &reason() const { return reason_; }

 private:
  bool fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  template <class T>
  bool read_at(std::uint64_t address, T &value) const {
    return image_.read(address, &value, sizeof value);
  }
  std::optional<std::string> string_at(std::uint64_t offset, std::size_t longest) const;
  bool is_entry(std::uint64_t index) const;
  bool find_entry_gnu() const;
  bool find_entry_sysv() const;
  void read_note(std::string_view owner, std::uint32_t type, std::string_view description);

  const ElfImage &image_;
  DynamicSection dynamic_;
  ElfFacts facts_;
  std::string reason_;
};

bool ElfReader::read_dynamic_section() {
  const auto &segments = image_.segments();
  const auto segment =
      std::find_if(segments.begin(), segments.end(),
                   [](const Elf64_Phdr &candidate) { return candidate.p_type == PT_DYNAMIC; });
  if (segment == segments.end()) return fail("not dynamically linked");
  const std::uint64_t count =
      std::min<std::uint64_t>(segment->p_filesz / sizeof(Elf64_Dyn), max_dynamic_entries);
  std::vector<Elf64_Dyn> entries(count);
  if (!image_.read(segment->p_vaddr, entries.data(), count * sizeof(Elf64_Dyn))) {
    return fail("damaged: its dynamic section lies outside its segments");
  }

  for (const Elf64_Dyn &entry : entries) {
    const std::uint64_t value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_NULL: return true;
      case DT_STRTAB: dynamic_.strings = value; break;
      case DT_STRSZ: dynamic_.strings_size = value; break;
      case DT_SYMTAB: dynamic_.symbols = value; break;
      case DT_HASH: dynamic_.hash = value; break;
      case DT_GNU_HASH: dynamic_.gnu_hash = value; break;
      case DT_FLAGS_1: dynamic_.flags_1 = value; break;
      case DT_SONAME: dynamic_.soname = value; break;
      case DT_RPATH: dynamic_.rpath = value; break;
      case DT_RUNPATH: dynamic_.runpath = value; break;
      case DT_NEEDED: dynamic_.needed.push_back(value); break;
      default: break;
    }
  }
  return fail("damaged: its dynamic section has no end");
}

// The string at an offset of the dynamic string table, read in small pieces: the table of a large
// library has tens of megabytes.
std::optional<std::string> ElfReader::string_at(std::uint64_t offset, std::size_t longest) const {
  std::string text;
  std::array<char, 256> piece{};
  while (offset < dynamic_.strings_size && text.size() <= longest) {
    const std::uint64_t length =
        std::min<std::uint64_t>(piece.size(), dynamic_.strings_size - offset);
    if (!image_.read(dynamic_.strings + offset, piece.data(), length)) return std::nullopt;
    const std::size_t taken = ::strnlen(piece.data(), length);
    text.append(piece.data(), taken);
    if (taken < length) return text;
    offset += length;
  }
  return std::nullopt;
}

// The folders of a run path; an empty one means the current directory to the dynamic loader.
std::vector<std::string> split_run_path(const std::string &text, const std::string &origin) {
  std::vector<std::string> folders;
  std::size_t start = 0;
  while (!text.empty() && start <= text.size()) {
    const std::size_t end = std::min(text.find(':', start), text.size());
    std::string folder = end == start ? "." : text.substr(start, end - start);
    for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"}) {
      for (auto at = folder.find(token); at != std::string::npos;
           at = folder.find(token, at + origin.size())) {
        folder.replace(at, token.size(), origin);
      }
    }
    folders.push_back(std::move(folder));
    start = end + 1;
  }
  return folders;
}

bool ElfReader::read_names(const std::filesystem::path &folder) {
  if ((dynamic_.flags_1 & DF_1_PIE) != 0) return fail("a program, not a shared object");
  const char *damaged = "damaged: its dynamic string table lies outside its segments";
  for (const std::uint64_t offset : dynamic_.needed) {
    auto name = string_at(offset, max_name_length);
    if (!name) return fail(damaged);
    facts_.needed.push_back(std::move(*name));
  }
  if (dynamic_.soname) {
    auto name = string_at(*dynamic_.soname, max_name_length);
    if (!name) return fail(damaged);
    facts_.soname = std::move(*name);
  }
  if (const auto path = dynamic_.runpath ? dynamic_.runpath : dynamic_.rpath) {
    const auto text = string_at(*path, max_run_path_length);
    if (!text) return fail(damaged);
    facts_.run_path = split_run_path(*text, folder.string());
    facts_.run_path_first = !dynamic_.runpath;
  }
  return true;
}

// Only a function counts: the address of anything else must never be called.
bool ElfReader::is_entry(std::uint64_t index) const {
  Elf64_Sym symbol{};
  if (!read_at(dynamic_.symbols + index * sizeof symbol, symbol)) return false;
  return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
         string_at(symbol.st_name, entry_name.size()) == entry_name;
}

// The GNU hash table: header, bloom filter (not needed to be right), buckets, chains.
bool ElfReader::find_entry_gnu() const {
  struct {
    std::uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  } table{};
  if (!read_at(dynamic_.gnu_hash, table) || table.buckets == 0) return false;
  std::uint32_t hash = 5381;
  for (const char c : entry_name) hash = hash * 33 + static_cast<unsigned char>(c);

  const std::uint64_t buckets =
      dynamic_.gnu_hash + sizeof table + std::uint64_t{table.bloom_words} * sizeof(std::uint64_t);
  const std::uint64_t chains = buckets + std::uint64_t{table.buckets} * sizeof(std::uint32_t);
  std::uint32_t index = 0;
  if (!read_at(buckets + std::uint64_t{hash % table.buckets} * sizeof index, index)) return false;
  if (index < table.first_symbol) return false;
  for (int step = 0; step < max_hash_chain; ++step, ++index) {
    std::uint32_t link = 0;  // the symbol's hash; its lowest bit ends the chain instead
    if (!read_at(chains + std::uint64_t{index - table.first_symbol} * sizeof link, link)) break;
    if ((link | 1u) == (hash | 1u) && is_entry(index)) return true;
    if ((link & 1u) != 0) break;
  }
  return false;
}

// The older hash table: counts, buckets, chains.
bool ElfReader::find_entry_sysv() const {
  std::array<std::uint32_t, 2> counts{};
  if (!read_at(dynamic_.hash, counts) || counts[0] == 0) return false;
  std::uint32_t hash = 0;
  for (const char c : entry_name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }

  const std::uint64_t buckets = dynamic_.hash + sizeof counts;
  const std::uint64_t chains = buckets + std::uint64_t{counts[0]} * sizeof(std::uint32_t);
  std::uint32_t index = 0;
  if (!read_at(buckets + std::uint64_t{hash % counts[0]} * sizeof index, index)) return false;
  for (int step = 0; step < max_hash_chain && index != STN_UNDEF; ++step) {
    if (is_entry(index)) return true;
    if (!read_at(chains + std::uint64_t{index} * sizeof index, index)) break;
  }
  return false;
}

bool ElfReader::find_entry() {
  if (!image_.offset_of(dynamic_.strings, dynamic_.strings_size) ||
      !image_.offset_of(dynamic_.symbols, sizeof(Elf64_Sym))) {
    return fail("damaged: its symbol table lies outside its segments");
  }
  facts_.has_entry =
      dynamic_.gnu_hash != 0 ? find_entry_gnu() : dynamic_.hash != 0 && find_entry_sysv();
  return true;
}

template <std::size_t N>
std::string bounded_text(const char (&text)[N]) {
  std::string result(text, std::find(text, text + N, '\0'));
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return result;
}

std::optional<BackendNote> parse_backend_note(std::string_view description) {
  tl_backend_note raw{};
  if (description.size() < sizeof raw) return std::nullopt;
  std::memcpy(&raw, description.data(), sizeof raw);
  BackendNote note{raw.abi_version,           raw.flags,
                   bounded_text(raw.name),    bounded_text(raw.built_for),
                   bounded_text(raw.library), bounded_text(raw.library_build_id)};
  const bool named =
      note.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos &&
      !note.name.empty();
  return raw.note_version >= 1 && named ? std::optional(std::move(note)) : std::nullopt;
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

void ElfReader::read_note(std::string_view owner, std::uint32_t type,
                          std::string_view description) {
  using namespace std::string_view_literals;
  constexpr auto gnu = "GNU\0"sv;  // an owner's NUL counts
  constexpr auto torchlean = TL_NOTE_OWNER "\0"sv;
  if (owner == gnu && type == NT_GNU_BUILD_ID && facts_.build_id.empty()) {
    facts_.build_id = hexadecimal(description.substr(0, 64));
  } else if (owner == torchlean && type == TL_NOTE_TYPE && !facts_.note) {
    facts_.note = parse_backend_note(description);
  }
}

void ElfReader::read_notes() {
  for (const Elf64_Phdr &segment : image_.segments()) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > max_note_segment) continue;
    std::string bytes(segment.p_filesz, '\0');
    if (!image_.file().read(segment.p_offset, bytes.data(), bytes.size())) continue;
    const std::size_t alignment = segment.p_align == 8 ? 8 : 4;
    const auto aligned = [alignment](std::uint64_t n) { return (n + alignment - 1) & -alignment; };
    const std::string_view all = bytes;
    std::uint64_t at = 0;
    while (at <= all.size() && all.size() - at >= sizeof(Elf64_Nhdr)) {
      Elf64_Nhdr note{};
      std::memcpy(&note, all.data() + at, sizeof note);
      const std::uint64_t owner = at + sizeof note;
      const std::uint64_t description = aligned(owner + note.n_namesz);
      const std::uint64_t end = description + note.n_descsz;  // 32-bit lengths: no overflow
      if (end > all.size()) break;
      read_note(all.substr(owner, note.n_namesz), note.n_type,
                all.substr(description, note.n_descsz));
      at = aligned(end);
    }
  }
}

}  // namespace

ElfInspection inspect_elf(const std::filesystem::path &path) {
  const ElfImage image(path);
  if (!image.problem().empty()) return {std::nullopt, image.problem()};
  std::error_code ignored;
  const auto folder = std::filesystem::absolute(path, ignored).parent_path();
  ElfReader reader(image);
  if (!reader.read_dynamic_section() || !reader.read_names(folder) || !reader.find_entry()) {
    return {std::nullopt, reader.reason()};
  }
  reader.read_notes();
  return {std::move(reader.facts()), {}};
}

}  // namespace torchlean
