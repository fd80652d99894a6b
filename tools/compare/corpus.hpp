// The corpus: a file of cases that failed before, one a line.
//
//   # a comment
//   sub[float32, literal, in=3f800000, in=c0200000]
//   tanh[float64, special, all] --seed 1 --size default
#pragma once

#include "compare/case_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace torchlean::tools {

struct CorpusEntry {
  Selector selector;       // names one case
  std::uint64_t seed = 1;  // of a generated case
  Size size = Size::standard;
};

// The entries of a file; none where it does not exist. Throws std::invalid_argument, which names
// the file and the line, for anything else than a corpus.
std::vector<CorpusEntry> read_corpus(const std::string &path);

// Adds the lines that the file does not have yet; makes it where it does not exist. Throws
// std::runtime_error.
void add_to_corpus(const std::string &path, const std::vector<std::string> &lines);

// What add_to_corpus takes.
std::string corpus_line(const std::string &case_name, std::uint64_t seed, Size size);

}  // namespace torchlean::tools
