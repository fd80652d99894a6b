// Runs the selected cases on the baseline and on every other backend, and keeps the record.
#pragma once

#include "common/backends.hpp"
#include "compare/cases.hpp"
#include "compare/record.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace torchlean::tools {

struct Selection {
  // Of operations, or, where a pattern holds a slash, of whole case names; empty: everything.
  std::vector<std::string> patterns;
  std::vector<tl_dtype> dtypes;  // empty: all
  std::uint64_t seed = 1;
  Size size = Size::standard;

  bool wants_operation(const std::string &name) const;
  bool wants_case(const std::string &operation, const std::string &case_name) const;
  // A few cases were picked by name, so that they need not prove their operation.
  bool picks_cases() const;
};

// "small", "default", "large"
const char *size_name(Size size);

// Compares the first backend with each of the others; all are open. `progress` is called with the
// name of each operation before its cases run.
Report compare_backends(const std::vector<OpenedBackend> &backends, const Selection &selection,
                        const std::function<void(const std::string &)> &progress);

}  // namespace torchlean::tools
