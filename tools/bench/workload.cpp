// Makes the rows from the tables.
#include "bench/workload.hpp"

#include "compare/case_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

namespace torchlean::tools {
namespace {

std::uint64_t elements_of(const std::string &size) {
  std::uint64_t elements = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), elements);
  if (error != std::errc() || end != size.data() + size.size() || elements == 0 ||
      elements > most_workload_elements) {
    throw std::invalid_argument(
        fmt::format("--size: '{}' is neither {} nor a number of elements from 1 to {}",
                    printable(size), fmt::join(workload_sizes(), ", "), most_workload_elements));
  }
  return elements;
}

std::vector<Dims> shapes_of(const Scale &scale, const std::string &size) {
  const std::vector<std::string> &names = workload_sizes();
  if (std::find(names.begin(), names.end(), size) == names.end()) {
    return {scale.of(elements_of(size))};
  }
  std::vector<Dims> shapes;
  for (const Sized &sized : scale.shapes) {
    if (size == sized.size) shapes.push_back(sized.dims);
  }
  return shapes;
}

void add_rows(const Entry &entry, const std::string &size, std::vector<Workload> &rows) {
  for (const Dims &dims : shapes_of(*entry.scale, size)) {
    for (const char *operation : entry.operations) {
      for (const tl_dtype dtype : {TL_FLOAT32, TL_FLOAT64}) {
        if (entry.is_float64_only && dtype != TL_FLOAT64) continue;
        Workload row;
        row.one.operation = operation;
        row.one.dtype = row.one.other_dtype = dtype;
        row.one.kind = size;
        row.one.scalars = entry.scalars;
        entry.fill(row, dims);
        rows.push_back(std::move(row));
      }
    }
  }
}

}  // namespace

double Workload::bytes() const {
  std::uint64_t elements = results;
  for (const Operand &operand : operands) elements += operand.count;
  const std::uint64_t width = one.dtype == TL_FLOAT32 ? 4 : 8;
  return static_cast<double>(elements * width + one.indices.size() * 4);
}

const std::vector<std::string> &workload_sizes() {
  static const std::vector<std::string> names = {"small", "medium", "large"};
  return names;
}

std::vector<Workload> workloads(const std::vector<std::string> &sizes) {
  std::vector<Workload> rows;
  for (const auto table : {array_entries, matrix_entries, window_entries}) {
    for (const Entry &entry : table()) {
      for (const std::string &size : sizes) add_rows(entry, size, rows);
    }
  }
  std::map<std::string, std::size_t> places;
  for (const tl_operation_info &info : operations()) places.emplace(info.name, places.size());
  const auto place = [&](const Workload &row) {
    return std::pair(places.at(row.one.operation), row.one.dtype);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Workload &a, const Workload &b) { return place(a) < place(b); });
  return rows;
}

std::uint64_t side_of(std::uint64_t n) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n))));
}

}  // namespace torchlean::tools
