// Rows picked from a matrix, and rows added to it.
#include "exact_sum.hpp"
#include "reference.hpp"

#include <vector>

namespace torchlean::reference {
namespace {

void gather_rows(tl_instance &instance, const tl_operand *operand, uint64_t rows, uint64_t cols,
                 const uint32_t *indices, uint64_t k, tl_flags, tl_storage **out) {
  expect_given("source", operand);
  if (k > 0) expect_given("indices", indices);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto source = values_of<T>("source", operand);
    expect_equal("source.count", source.size(), product({rows, cols}));
    check_count(product({k, cols}));
    Result<T> y(instance, k * cols);
    for (uint64_t i = 0; i < k; ++i)
      for (uint64_t c = 0; c < cols; ++c)
        y[i * cols + c] = indices[i] < rows ? source[indices[i] * cols + c] : T(0);
    hand_out(out, y);
  });
}

// The updates whose row exists, sorted by row; those of one row stay in index order.
std::vector<uint64_t> updates_by_row(std::span<const uint32_t> indices, uint64_t rows) {
  std::vector<uint64_t> updates;
  for (uint64_t i = 0; i < indices.size(); ++i)
    if (indices[i] < rows) updates.push_back(i);
  std::stable_sort(updates.begin(), updates.end(),
                   [&](uint64_t a, uint64_t b) { return indices[a] < indices[b]; });
  return updates;
}

void scatter_add_rows(tl_instance &instance, const tl_operand *start, const tl_operand *added,
                      uint64_t rows, uint64_t cols, const uint32_t *indices, uint64_t k, tl_flags,
                      tl_storage **out) {
  expect_given("base", start);
  if (k > 0) expect_given("indices", indices);
  with_native(start->dtype, [&]<class T>(T) {
    const auto base = values_of<T>("base", start);
    const auto values = values_of<T>("values", added);
    expect_equal("base.count", base.size(), product({rows, cols}));
    expect_equal("values.count", values.size(), product({k, cols}));
    const bool deterministic = instance.deterministic;
    Result<T> y(instance, base.size());
    std::copy(base.begin(), base.end(), y.begin());

    const auto updates = updates_by_row({indices, cols > 0 ? k : 0}, rows);
    ExactSum sum;
    for (auto first = updates.begin(); first != updates.end();) {
      const uint64_t row = indices[*first];
      const auto last =
          std::find_if(first, updates.end(), [&](auto i) { return indices[i] != row; });
      for (uint64_t c = 0; c < cols; ++c) {
        T &element = y[row * cols + c];
        if (deterministic || last - first == 1) {
          for (auto i = first; i != last; ++i) element += values[*i * cols + c];
        } else {
          sum.add(element);
          for (auto i = first; i != last; ++i) sum.add(values[*i * cols + c]);
          element = sum.take<T>();
        }
      }
      first = last;
    }
    hand_out(out, y);
  });
}

}  // namespace

const tl_indexing_table indexing_table = {
    .struct_size = sizeof(tl_indexing_table),
    .gather_rows = entry<"gather_rows", gather_rows>,
    .scatter_add_rows = entry<"scatter_add_rows", scatter_add_rows>,
};

}  // namespace torchlean::reference
