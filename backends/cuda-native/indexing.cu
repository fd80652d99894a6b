// Rows picked from a matrix, and rows added to it.
//
// Index lists come from the host, which sorts them by row: so each row that is hit is summed by
// threads of its own, in index order, and the result is the same in either mode.
#include "arithmetic.cuh"
#include "division.cuh"
#include "instance.hpp"
#include "launch.cuh"
#include "loads.cuh"
#include "words.cuh"

#include <bit>
#include <vector>

namespace torchlean::cuda {

namespace {

// A host list on the device.
Result uploaded(tl_instance &instance, const char *operation, const uint32_t *list,
                uint64_t count) {
  Result result(instance, operation, count, sizeof(uint32_t));
  device::copy_to_device(*instance.stream, operation, result.elements<void>(), list,
                         count * sizeof(uint32_t));
  return result;
}

// ---- Gather ------------------------------------------------------------------------------------

template <class W>
__global__ void gather_kernel(uint64_t words, W *out, const W *source, uint64_t rows,
                              const uint32_t *indices, Divisor cols) {
  for (uint64_t i = first_element(); i < words; i += element_stride()) {
    const Divided place = cols.divide(i);
    const uint32_t row = indices[place.quotient];
    out[i] = row < rows ? source[row * cols.value() + place.remainder] : W{};
  }
}

// In the widest words that divide a row.
template <class T, size_t width = widest_word<T>>
void gather(device::Stream &stream, const char *operation, void *out, const void *source,
            uint64_t rows, uint64_t cols, const uint32_t *indices, uint64_t k) {
  if constexpr (width > 1) {
    if (cols % width != 0) {
      return gather<T, width / 2>(stream, operation, out, source, rows, cols, indices, k);
    }
  }
  using W = Word<T, width>;
  launch(stream, operation, k * (cols / width), &gather_kernel<W>, static_cast<W *>(out),
         static_cast<const W *>(source), rows, indices, Divisor(cols / width));
}

void gather_rows(tl_instance *instance, const tl_operand *source, uint64_t rows, uint64_t cols,
                 const uint32_t *indices, uint64_t k, tl_flags, tl_storage **out) {
  constexpr const char *operation = "gather_rows";
  with_native(operation, source->dtype, [&]<class T>() {
    check_operand(operation, "source", *source, native_dtype<T>, product({rows, cols}));
    Result result(*instance, operation, product({k, cols}), sizeof(T));
    const Result list = uploaded(*instance, operation, indices, k);
    gather<T>(*instance->stream, operation, result.elements<void>(), elements<void>(*source), rows,
              cols, list.elements<uint32_t>(), k);
    *out = result.hand_over();
  });
}

// ---- Scatter -----------------------------------------------------------------------------------

// The updates whose row exists, sorted by row; those of one row stay in index order. (Digit by
// digit from the lowest: stable, and no slower for many rows than for few.)
std::vector<uint32_t> updates_by_row(const uint32_t *indices, uint64_t k, uint64_t rows) {
  constexpr unsigned bits = 11;
  constexpr uint32_t digits = 1u << bits;
  std::vector<uint32_t> updates;
  updates.reserve(k);
  for (uint64_t i = 0; i < k; ++i) {
    if (indices[i] < rows) {
      updates.push_back(static_cast<uint32_t>(i));
    }
  }
  std::vector<uint32_t> sorted(updates.size());
  const auto row_bits = static_cast<unsigned>(std::bit_width(std::min<uint64_t>(rows, UINT32_MAX)));
  for (unsigned shift = 0; shift < row_bits; shift += bits) {
    uint64_t next[digits + 1] = {};  // where the next update with this digit goes
    const auto digit = [&](uint32_t update) { return (indices[update] >> shift) % digits; };
    for (const uint32_t update : updates) {
      ++next[digit(update) + 1];
    }
    for (uint32_t i = 1; i < digits; ++i) {
      next[i] += next[i - 1];
    }
    for (const uint32_t update : updates) {
      sorted[next[digit(update)]++] = update;
    }
    updates.swap(sorted);
  }
  return updates;
}

// Where the updates of each row that is hit begin among the sorted ones; at last their number.
std::vector<uint32_t> starts_of_rows(const std::vector<uint32_t> &updates,
                                     const uint32_t *indices) {
  std::vector<uint32_t> starts;
  for (size_t i = 0; i < updates.size(); ++i) {
    if (i == 0 || indices[updates[i]] != indices[updates[i - 1]]) {
      starts.push_back(static_cast<uint32_t>(i));
    }
  }
  starts.push_back(static_cast<uint32_t>(updates.size()));
  return starts;
}

// The elements of the rows that are hit.
template <class T>
__global__ void scatter_kernel(uint64_t n, T *out, const T *base, const T *values,
                               const uint32_t *indices, const uint32_t *updates,
                               const uint32_t *starts, Divisor cols) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const Divided place = cols.divide(i);
    const uint64_t column = place.remainder;
    const uint32_t *const update = updates + starts[place.quotient];
    const uint64_t element = indices[*update] * cols.value() + column;
    T sum = base[element];
    load_ahead(
        starts[place.quotient + 1] - starts[place.quotient],
        [&](uint64_t u) { return values[update[u] * cols.value() + column]; },
        [&](uint64_t, T value) { sum = add_rn(sum, value); });
    out[element] = sum;
  }
}

void scatter_add_rows(tl_instance *instance, const tl_operand *base, const tl_operand *values,
                      uint64_t rows, uint64_t cols, const uint32_t *indices, uint64_t k, tl_flags,
                      tl_storage **out) {
  constexpr const char *operation = "scatter_add_rows";
  with_native(operation, base->dtype, [&]<class T>() {
    const uint64_t count = product({rows, cols});
    check_operand(operation, "base", *base, native_dtype<T>, count);
    check_operand(operation, "values", *values, native_dtype<T>, product({k, cols}));
    Result result(*instance, operation, count, sizeof(T));
    device::copy_on_device(*instance->stream, operation, result.elements<void>(),
                           elements<void>(*base), count * sizeof(T));
    const std::vector<uint32_t> updates = updates_by_row(indices, k, rows);
    if (!updates.empty()) {
      const std::vector<uint32_t> starts = starts_of_rows(updates, indices);
      const auto upload = [&](const uint32_t *list, uint64_t length) {
        return uploaded(*instance, operation, list, length);
      };
      const Result device_indices = upload(indices, k);
      const Result device_updates = upload(updates.data(), updates.size());
      const Result device_starts = upload(starts.data(), starts.size());
      launch(*instance->stream, operation, (starts.size() - 1) * cols, &scatter_kernel<T>,
             result.elements<T>(), elements<T>(*base), elements<T>(*values),
             device_indices.elements<uint32_t>(), device_updates.elements<uint32_t>(),
             device_starts.elements<uint32_t>(), Divisor(cols));
    }
    *out = result.hand_over();
  });
}

}  // namespace

const tl_indexing_table indexing_table = {
    .struct_size = sizeof(tl_indexing_table),
    .gather_rows = entry<gather_rows>,
    .scatter_add_rows = entry<scatter_add_rows>,
};

}  // namespace torchlean::cuda
