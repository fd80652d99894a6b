// Reading and extending the corpus.
#include "compare/corpus.hpp"

#include "common/console.hpp"
#include "compare/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace torchlean::tools {
namespace {

constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20U;

void read_options(const std::vector<std::string> &words, CorpusEntry &entry) {
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (words[i] == "--seed") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), entry.seed);
      if (value.empty() || error != std::errc() || end != value.data() + value.size()) {
        throw std::invalid_argument(fmt::format("--seed: '{}' is no number", printable(value)));
      }
    } else if (words[i] == "--size") {
      const std::optional<Size> size = size_of(value);
      if (!size) {
        throw std::invalid_argument(
            fmt::format("--size: '{}', expected small, default or large", printable(value)));
      }
      entry.size = *size;
    } else {
      throw std::invalid_argument(
          fmt::format("'{}', expected --seed or --size", printable(words[i])));
    }
  }
}

CorpusEntry entry_from(const std::string &line) {
  const std::size_t end = line.find(']');
  if (end == std::string::npos) {
    throw std::invalid_argument(fmt::format("'{}' is no case", printable(line)));
  }
  CorpusEntry entry{parse_selector(std::string_view(line).substr(0, end + 1))};
  read_options(split(std::string_view(line).substr(end + 1), ' '), entry);
  const Selector &selector = entry.selector;
  if (find_operation(selector.operation) == nullptr) {
    throw std::invalid_argument(
        fmt::format("there is no operation '{}'", printable(selector.operation)));
  }
  const bool has_pattern = std::any_of(
      selector.parts.begin(), selector.parts.end(),
      [](const std::string &part) { return part.find_first_of("*?") != std::string::npos; });
  if (!selector.literal && (selector.parts.size() != 3 || has_pattern)) {
    throw std::invalid_argument(fmt::format("'{}' does not name one case", printable(line)));
  }
  return entry;
}

}  // namespace

std::vector<CorpusEntry> read_corpus(const std::string &path) {
  const auto refuse = [&](const std::string &reason) {
    throw std::invalid_argument(fmt::format("corpus {}: {}", path, reason));
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (status.type() != std::filesystem::file_type::regular) refuse("it is no ordinary file");
  if (std::filesystem::file_size(path, error) > most_bytes) {
    refuse(fmt::format("it has more than {} bytes", most_bytes));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("it cannot be read");
  std::vector<CorpusEntry> entries;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    try {
      entries.push_back(entry_from(line));
    } catch (const std::exception &reason) {
      refuse(fmt::format("line {}: {}", number, reason.what()));
    }
  }
  return entries;
}

void add_to_corpus(const std::string &path, const std::vector<std::string> &lines) {
  std::vector<std::string> known;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) known.push_back(line);
  std::ofstream end(path, std::ios::app);
  for (const std::string &line : lines) {
    if (std::find(known.begin(), known.end(), line) != known.end()) continue;
    end << line << '\n';
    known.push_back(line);
  }
  end.flush();
  if (!end) throw std::runtime_error(fmt::format("corpus {}: it cannot be written", path));
}

std::string corpus_line(const std::string &case_name, std::uint64_t seed, Size size) {
  const bool is_literal = parse_selector(case_name).literal.has_value();
  return is_literal ? case_name
                    : fmt::format("{} --seed {} --size {}", case_name, seed, size_name(size));
}

}  // namespace torchlean::tools
