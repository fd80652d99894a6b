// What is timed: one call of one operation, with the sizes of its operands and what it moves and
// computes. Tables say which (tools/bench/tables).
#pragma once

#include "compare/cases.hpp"
#include "compare/operations.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace torchlean::tools {

// What an operand is filled with: uniform numbers.
enum class Content {
  ordinary,  // between -2 and 2
  positive,  // between 0.5 and 1.5
  decay      // between 0.9 and 1
};

struct Operand {
  std::uint64_t count;
  Content content = Content::ordinary;
};

// Operands and result of an operation that takes or returns host arrays, as words of its dtype.
struct HostArrays {
  std::vector<std::vector<std::byte>> operands;
  std::vector<std::byte> result;
};

// A call with host arrays: the comparison's own converts them, which would be timed.
using HostCall = Results (*)(const Case &, const Inputs &, HostArrays &);

// Named by its case: "softmax[float32, large, 4096x1024:axis=0]".
struct Workload {
  Case one;  // the arguments; its kind is the size, its inputs are empty
  std::vector<Operand> operands;
  std::uint64_t results = 0;  // elements of all results together
  double flops = 0;           // 0 where memory bounds the operation
  HostCall host_call = nullptr;

  // Every operand is read once and every result written once; an index has 4 bytes.
  double bytes() const;
};

// "small", "medium", "large"
const std::vector<std::string> &workload_sizes();

// The largest number of elements that may be asked for.
inline constexpr std::uint64_t most_workload_elements = std::uint64_t{1} << 28U;

// The rows of these sizes, in the order of operations.def, float32 before float64. A size is one of
// workload_sizes() or a number: then each entry of the tables gives a row of about so many
// elements. Throws std::invalid_argument for anything else.
std::vector<Workload> workloads(const std::vector<std::string> &sizes);

// ---- Tables ------------------------------------------------------------------------------------

using Dims = std::vector<std::uint64_t>;

struct Sized {
  const char *size;
  Dims dims;
};

// The shapes of an entry's rows; what the dims are, the entry's `fill` says.
struct Scale {
  std::vector<Sized> shapes;
  Dims (*of)(std::uint64_t elements);  // the shape whose first operand has about so many
};

// Rows of operations that take the same arguments.
struct Entry {
  std::vector<const char *> operations;
  const Scale *scale;
  // Completes a workload whose operation, dtype and size are known.
  void (*fill)(Workload &, const Dims &);
  std::vector<double> scalars = {};
  bool is_float64_only = false;
};

extern const Scale length_scale;  // n
extern const Scale matrix_scale;  // rows, cols

std::vector<Entry> array_entries();   // memory, transfer, random, elementwise, optimizer
std::vector<Entry> matrix_entries();  // reduction to scan
std::vector<Entry> window_entries();  // convolution, pooling

// The largest number whose square is at most n; 1 for 0.
std::uint64_t side_of(std::uint64_t n);

}  // namespace torchlean::tools
