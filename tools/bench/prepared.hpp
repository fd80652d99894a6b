// A workload made ready on one backend: operands uploaded, so that nothing but the call is left.
#pragma once

#include "bench/workload.hpp"

namespace torchlean::tools {

class Prepared {
 public:
  // On the thread's backend; equal contents on each. Throws Error.
  explicit Prepared(const Workload &row);

  Results call() {
    return row_->host_call != nullptr ? row_->host_call(row_->one, inputs_, host_)
                                      : operation_->call(row_->one, inputs_);
  }

  // The call's results as numbers; empty where they are unspecified. Throws Error.
  std::vector<std::vector<double>> values();

 private:
  const Workload *row_;
  const Operation *operation_;
  Inputs inputs_;
  HostArrays host_;
};

// Whether two backends computed the same, but for rounding: NaNs and infinities in the same places,
// and a difference below a thousandth of the results' Euclidean norm.
bool do_agree(const std::vector<std::vector<double>> &expected,
              const std::vector<std::vector<double>> &got);

}  // namespace torchlean::tools
