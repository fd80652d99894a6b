// One small case for each operation that `torchlean compare` knows, and the backends to run it on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/operations.hpp"
#include "support/listed.hpp"

namespace torchlean_test {

using torchlean::tools::Case;
using torchlean::tools::Inputs;
using torchlean::tools::Operation;
using torchlean::tools::Outcome;

inline const std::vector<std::string> host_backends = torchlean_test::listed(HOST_BACKENDS);

// Of those with a choice of devices the host is meant.
inline torchlean::Backend open_on_host(const std::string &path) {
  return torchlean::Backend(path, path.find("libtorch") != std::string::npos ? "cpu" : "");
}

inline Inputs to_backend(const Case &one) {
  Inputs inputs;
  for (const torchlean::tools::Array &array : one.inputs) {
    inputs.push_back(torchlean::tools::to_backend(array));
  }
  return inputs;
}

inline bool is_same(const Outcome &a, const Outcome &b) {
  if (a.outputs.size() != b.outputs.size()) return false;
  for (std::size_t k = 0; k < a.outputs.size(); ++k) {
    if (a.outputs[k].bits != b.outputs[k].bits) return false;
  }
  return a.replay == b.replay;
}

// One small case of the row on the thread's backend, with nothing empty: the core answers many of
// those calls itself.
inline std::optional<Case> small_case(const Operation &row, tl_dtype dtype) {
  using torchlean::tools::Generator;
  std::optional<Case> found;
  const auto is_wanted = [&](const Case &) { return !found; };
  const auto take = [&](const Case &one) {
    if (found) return;
    for (const torchlean::tools::Array &input : one.inputs) {
      if (input.size() == 0) return;
    }
    const Outcome outcome = row.run(one, to_backend(one));
    for (const torchlean::tools::Array &output : outcome.outputs) {
      if (output.size() == 0) return;
    }
    found = one;
  };
  row.cases(Generator({row.name, dtype, 1, torchlean::tools::Size::small, is_wanted, take}));
  return found;
}

// Calls visit(operation, row, dtype, case) for every operation and dtype that the reference has.
template <class Visit>
void for_each_operation(const Visit &visit) {
  static const torchlean::Backend reference("reference");
  const std::vector<tl_operation_info> table = torchlean::operations();
  for (tl_operation operation = 0; operation < TL_OP_COUNT; ++operation) {
    const Operation *row = torchlean::tools::find_operation(table[operation].name);
    for (tl_dtype dtype = 0; row != nullptr && dtype < TL_DTYPE_COUNT; ++dtype) {
      if (!reference.supports(operation, dtype)) continue;
      std::optional<Case> one;
      {
        const torchlean::ThreadBackend guard(reference);
        one = small_case(*row, dtype);
      }
      CAPTURE(std::string(row->name));
      CAPTURE(dtype);
      REQUIRE(one);
      visit(operation, *row, dtype, *one);
    }
  }
}

}  // namespace torchlean_test
