// Rows picked from a matrix, and rows added to it.
//
// ATen refuses indices that no row has, and adds in an order of its own: loops.
#include "composed.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {
namespace {

template <class T>
at::Tensor gathered(const at::Tensor &source, const uint32_t *indices, int64_t k) {
  const int64_t rows = source.size(0), cols = source.size(1);
  at::Tensor result = empty(k * cols, scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const from = source.const_data_ptr<T>();
  if (cols == 1) {
    each(k, [=](int64_t i) { y[i] = indices[i] < rows ? from[indices[i]] : T(0); });
  } else {
    each_task(k, cols, [=](int64_t i) {
      if (indices[i] < rows) {
        std::copy_n(from + indices[i] * cols, cols, y + i * cols);
      } else {
        std::fill_n(y + i * cols, cols, T(0));
      }
    });
  }
  return result;
}

void gather_rows(tl_instance &instance, const tl_operand *operand, uint64_t rows, uint64_t cols,
                 const uint32_t *indices, uint64_t k, tl_flags, tl_storage **out) {
  if (k > 0) expect_given("indices", indices);
  const at::Tensor source = shaped("source", native_tensor("source", operand),
                                   {extent("rows", rows), extent("cols", cols)});
  const int64_t count = extent("k", k);
  extent("k * cols", k * cols);
  if (instance.composed) return hand_out(out, composed::gather_rows(source, indices, count));
  with_native(operand->dtype,
              [&]<class T>(T) { hand_out(out, gathered<T>(source, indices, count)); });
}

// In index order from the base on, in either mode. Threads share the columns.
template <class T>
at::Tensor scattered(const at::Tensor &base, const at::Tensor &values, const uint32_t *indices) {
  constexpr int64_t strip = 256;
  const int64_t rows = base.size(0), cols = base.size(1), k = values.size(0);
  at::Tensor result = base.clone();
  T *const y = result.mutable_data_ptr<T>();
  const T *const from = values.const_data_ptr<T>();
  each_strip(1, k, cols, strip, [=](int64_t, int64_t begin, int64_t width) {
    for (int64_t i = 0; i < k; ++i) {
      if (indices[i] >= rows) continue;
      T *const row = y + indices[i] * cols + begin;
      const T *const added = from + i * cols + begin;
      if (width == 1) {
        *row += *added;
      } else {
        detail::each_in_range(0, width, [=](int64_t c) { row[c] += added[c]; });
      }
    }
  });
  return result;
}

void scatter_add_rows(tl_instance &instance, const tl_operand *start, const tl_operand *added,
                      uint64_t rows, uint64_t cols, const uint32_t *indices, uint64_t k, tl_flags,
                      tl_storage **out) {
  expect_given("base", start);
  if (k > 0) expect_given("indices", indices);
  const at::Tensor base =
      native_as("base", start, start->dtype, {extent("rows", rows), extent("cols", cols)});
  const at::Tensor values =
      native_as("values", added, start->dtype, {extent("k", k), extent("cols", cols)});
  if (instance.composed)
    return hand_out(out, composed::scatter_add_rows(base, values, indices, instance.deterministic));
  with_native(start->dtype,
              [&]<class T>(T) { hand_out(out, scattered<T>(base, values, indices)); });
}

}  // namespace

const tl_indexing_table indexing_table = {
    .struct_size = sizeof(tl_indexing_table),
    .gather_rows = entry<"gather_rows", gather_rows>,
    .scatter_add_rows = entry<"scatter_add_rows", scatter_add_rows>,
};

}  // namespace torchlean::libtorch
