// Bounds-checked access to the bytes of a shared object on disk, by their address once loaded.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace torchlean {

/// An open regular file, read in pieces and never mapped.
class RegularFile {
 public:
  /// Opens `path`; anything but a regular file is left unopened. See problem().
  explicit RegularFile(const std::filesystem::path &path);
  RegularFile(const RegularFile &) = delete;
  RegularFile &operator=(const RegularFile &) = delete;
  ~RegularFile();

  const std::string &problem() const { return problem_; }  ///< empty if it could be opened
  std::uint64_t size() const { return size_; }             ///< bytes, when it was opened
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  /// Reads exactly `length` bytes, or returns false.
  bool read(std::uint64_t offset, void *target, std::size_t length) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::string problem_;
};

/// The segments of a shared object for this machine, all inside the file.
class ElfImage {
 public:
  /// Reads the headers of `path`. See problem().
  explicit ElfImage(const std::filesystem::path &path);

  /// Why this is no complete shared object for this process; empty if it is one. The other members
  /// may be called only then.
  const std::string &problem() const { return problem_; }
  const RegularFile &file() const { return file_; }
  const std::vector<Elf64_Phdr> &segments() const { return segments_; }

  /// Where the bytes [address, address + length) of the loaded image lie in the file; none if they
  /// are not all there.
  std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t length) const;

  /// Reads `length` bytes of the loaded image, or returns false.
  bool read(std::uint64_t address, void *target, std::size_t length) const {
    const auto offset = offset_of(address, length);
    return offset && file_.read(*offset, target, length);
  }

 private:
  bool read_header();
  bool read_segments();
  bool fail(std::string problem);
  bool fail_truncated(const std::string &what, std::uint64_t end);

  RegularFile file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::string problem_;
};

}  // namespace torchlean
