// The rows of a comparison: which operations and dtypes take part, in which order, with which
// cases.
#pragma once

#include "compare/engine.hpp"
#include "compare/operations.hpp"

#include <functional>
#include <string>
#include <vector>

namespace torchlean::tools {

// One operation for one dtype.
struct Row {
  tl_operation number = 0;
  const Operation *operation = nullptr;
  tl_dtype dtype = TL_FLOAT32;
  bool is_whole = true;                          // all its cases run, so that they must prove it
  std::vector<const CorpusEntry *> past = {};    // failed before
  std::vector<const Selector *> selectors = {};  // of the selection, those that name it

  std::string name() const;  // "add[float32]"
};

// In the order of the operation table; those with past failures come first.
std::vector<Row> rows_of(const Selection &selection);

// Whether the selection asks for a generated case of the row.
bool is_wanted(const Row &row, const Selection &selection, const Case &one);

// Hands the row's cases to the sink: past failures, literal cases, generated ones, wrong arguments.
void for_each_case(const Row &row, const Selection &selection,
                   const std::function<void(const Case &)> &sink);

}  // namespace torchlean::tools
