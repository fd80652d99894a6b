// The handwritten digits: reading the file, and the split into training and held-out samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace digits {

inline constexpr std::size_t pixels = 64;
inline constexpr std::size_t classes = 10;

// Samples row by row: pixels are ink / 16, in [0, 1]; targets are one-hot.
struct Samples {
  std::size_t count = 0;
  std::vector<float> images;   // (count, pixels)
  std::vector<float> targets;  // (count, classes)
};

struct Dataset {
  Samples training;
  Samples held_out;
};

// Reads the file (its format: data/ATTRIBUTION.md). Every fifth sample is held out; the order of
// the others is shuffled by the seed. Throws std::runtime_error naming file and line.
Dataset read_dataset(const std::filesystem::path &file, std::uint64_t seed);

// Where the file lies, seen from this program: ../share/torchlean/digits.txt.
std::filesystem::path default_file();

}  // namespace digits
