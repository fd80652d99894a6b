// Puts the families' rows together.
#include "compare/operations.hpp"

#include <iterator>
#include <utility>

namespace torchlean::tools {

const std::vector<Operation> &operation_table() {
  static const std::vector<Operation> table = [] {
    std::vector<Operation> rows;
    for (const auto family :
         {memory_operations, elementwise_operations, reduction_operations, view_operations,
          indexing_operations, matmul_operations, normalization_operations, loss_operations,
          fourier_operations, scan_operations, convolution_operations, pooling_operations}) {
      const std::vector<Operation> more = family();
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return table;
}

Outcome Operation::run(const Case &one, const Inputs &inputs) const {
  Results results = call(one, inputs);
  Outcome outcome = {std::move(results.arrays), results.replay};
  for (const Buffer &buffer : results.buffers) {
    if (buffer.get() != nullptr) outcome.outputs.push_back(from_backend(buffer));
  }
  return outcome;
}

const Operation *find_operation(std::string_view name) {
  for (const Operation &row : operation_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

}  // namespace torchlean::tools
