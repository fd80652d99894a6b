// Reads the digits and splits them.
#include "dataset.hpp"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace digits {
namespace {

struct Sample {
  std::string_view ink;
  std::size_t label;
};

int level_of(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'g') return character - 'a' + 10;
  return -1;
}

void append(Samples &samples, const Sample &sample) {
  for (const char character : sample.ink) {
    samples.images.push_back(static_cast<float>(level_of(character)) / 16.0F);
  }
  for (std::size_t label = 0; label < classes; ++label) {
    samples.targets.push_back(label == sample.label ? 1.0F : 0.0F);
  }
  ++samples.count;
}

std::uint64_t split_mix(std::uint64_t &state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

Dataset read_dataset(const std::filesystem::path &file, std::uint64_t seed) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", file.string()));

  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    bool good = line.size() == pixels + 2 && line[pixels] == ' ' && line.back() >= '0' &&
                line.back() <= '9';
    for (std::size_t i = 0; good && i < pixels; ++i) good = level_of(line[i]) >= 0;
    if (!good) {
      throw std::runtime_error(
          fmt::format("{}:{}: expected 64 characters 0-9a-g, a space and a digit", file.string(),
                      lines.size() + 1));
    }
    lines.push_back(std::move(line));
  }

  Dataset dataset;
  std::vector<Sample> training;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Sample sample{std::string_view(lines[i]).substr(0, pixels),
                        static_cast<std::size_t>(lines[i].back() - '0')};
    if (i % 5 == 4) {
      append(dataset.held_out, sample);
    } else {
      training.push_back(sample);
    }
  }
  if (dataset.held_out.count == 0) {
    throw std::runtime_error(
        fmt::format("{}: {} samples, expected at least 5", file.string(), lines.size()));
  }
  std::uint64_t state = seed;
  for (std::size_t i = training.size() - 1; i > 0; --i) {
    std::swap(training[i], training[split_mix(state) % (i + 1)]);
  }
  for (const Sample &sample : training) append(dataset.training, sample);
  return dataset;
}

std::filesystem::path default_file() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "share/torchlean/digits.txt";
}

}  // namespace digits
