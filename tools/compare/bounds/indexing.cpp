// Budgets of scatter_add and scatter_add_rows: exact where a row is hit once at most.
#include "compare/bounds/magnitudes.hpp"
#include "compare/standard.hpp"

namespace torchlean::tools {
namespace {

// For each row the numbers of the updates that hit it.
std::vector<std::vector<std::uint64_t>> hits_of(const Case &one) {
  std::vector<std::vector<std::uint64_t>> hits(one.dims[0]);
  for (std::uint64_t i = 0; i < one.indices.size(); ++i) {
    if (one.indices[i] < hits.size()) hits[one.indices[i]].push_back(i);
  }
  return hits;
}

}  // namespace

Standard scatter_add_standard(const Case &one, const Outcome &baseline, const Outcome &,
                              const Setting &setting) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t cols = one.dims[0] == 0 ? 0 : one.inputs[0].size() / one.dims[0];
  const std::vector<std::vector<std::uint64_t>> hits = hits_of(one);
  std::vector<Allowance> allowances;
  for (std::uint64_t row = 0; row < one.dims[0]; ++row) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      if (hits[row].empty()) {
        allowances.push_back({Allowance::Unit::bits});
      } else if (hits[row].size() == 1 || setting.is_deterministic) {
        allowances.push_back({Allowance::Unit::exact});
      } else {
        const std::uint64_t i = row * cols + c;
        Magnitudes magnitudes;
        magnitudes.add(one.inputs[0].value(i), limits);
        for (const std::uint64_t hit : hits[row]) {
          magnitudes.add(one.inputs[1].value(hit * cols + c), limits);
        }
        allowances.push_back(relative_to(one, {0, i, baseline.outputs[0].value(i)}, magnitudes,
                                         2 * static_cast<double>(hits[row].size())));
      }
    }
  }
  return {{}, {std::move(allowances)}, {}};
}

}  // namespace torchlean::tools
