// Choosing rows and making their cases.
#include "compare/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace torchlean::tools {
namespace {

void generate(const Row &row, std::uint64_t seed, Size size,
              const std::function<bool(const Case &)> &wanted,
              const std::function<void(const Case &)> &sink) {
  const Generator generator({row.operation->name, row.dtype, seed, size, wanted, sink});
  row.operation->cases(generator);
  row.operation->wrong(generator);
}

}  // namespace

std::string Row::name() const { return fmt::format("{}[{}]", operation->name, dtype_name(dtype)); }

std::vector<Row> rows_of(const Selection &selection) {
  std::vector<Row> rows;
  const std::vector<tl_operation_info> table = operations();
  for (tl_operation number = 0; number < table.size(); ++number) {
    const Operation *operation = find_operation(table[number].name);
    if (operation == nullptr) continue;
    for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
      const auto &wanted = selection.dtypes;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), dtype) == wanted.end()) {
        continue;
      }
      Row row{number, operation, dtype};
      const auto names = [&](const Selector &selector) {
        return selector.wants_operation(operation->name) && selector.wants_dtype(dtype);
      };
      for (const Selector &selector : selection.selectors) {
        if (names(selector)) row.selectors.push_back(&selector);
      }
      if (!selection.selectors.empty() && row.selectors.empty()) continue;
      row.is_whole = selection.selectors.empty() ||
                     std::any_of(row.selectors.begin(), row.selectors.end(),
                                 [](const Selector *selector) { return !selector->picks_cases(); });
      for (const CorpusEntry &entry : selection.corpus) {
        if (row.is_whole && names(entry.selector)) row.past.push_back(&entry);
      }
      rows.push_back(std::move(row));
    }
  }
  std::stable_partition(rows.begin(), rows.end(), [](const Row &row) { return !row.past.empty(); });
  return rows;
}

bool is_wanted(const Row &row, const Selection &selection, const Case &one) {
  return selection.selectors.empty() ||
         std::any_of(row.selectors.begin(), row.selectors.end(),
                     [&](const Selector *selector) { return selector->wants_case(one); });
}

void for_each_case(const Row &row, const Selection &selection,
                   const std::function<void(const Case &)> &sink) {
  for (const CorpusEntry *entry : row.past) {
    if (entry->selector.literal) {
      sink(*entry->selector.literal);
    } else {
      generate(
          row, entry->seed, entry->size,
          [&](const Case &one) { return entry->selector.wants_case(one); }, sink);
    }
  }
  for (const Selector *selector : row.selectors) {
    if (selector->literal) sink(*selector->literal);
  }
  generate(
      row, selection.seed, selection.size,
      [&](const Case &one) { return is_wanted(row, selection, one); }, sink);
}

}  // namespace torchlean::tools
