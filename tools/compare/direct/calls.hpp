// One good call of every entry of a backend's table, made so that it can be spoilt.
#pragma once

#include <torchlean/backend.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace torchlean::tools {

// What one call of an entry takes; a fault changes a member.
struct Arguments {
  tl_instance *instance = nullptr;
  std::uint32_t op = 0;                      // the enumerator
  tl_dtype dtype = TL_FLOAT32;               // where the entry takes one
  std::uint32_t width = 4;                   // likewise
  std::vector<const tl_operand *> operands;  // in the entry's order
  std::vector<std::uint64_t> numbers;        // counts and extents, in the entry's order
  std::vector<std::byte> params;             // the parameter structure
  bool has_params = true;                    // else NULL
  const void *host_input = nullptr;          // words, indices or a factor
  void *host_output = nullptr;               // words, a product or a flag
  tl_flags flags = 0;
  tl_storage **out = nullptr;

  const tl_operand *operand(std::size_t k) const { return operands.at(k); }
  std::uint64_t number(std::size_t k) const { return numbers.at(k); }

  // The structure; NULL where it is not to be given.
  template <class Params>
  const Params *structure() const {
    return has_params ? reinterpret_cast<const Params *>(params.data()) : nullptr;
  }
  template <class Params>
  Params &edit() {
    return *reinterpret_cast<Params *>(params.data());
  }
};

// What is wrong with a call, and what must be answered, or may be too.
struct Fault {
  const char *label;
  void (*spoil)(Arguments &);
  tl_status expected = TL_INVALID_ARGUMENT;
  tl_status also = expected;
};

// In place of the count of an operand that must be NULL.
inline constexpr std::uint64_t absent = UINT64_MAX;

struct DirectEntry {
  const char *family;
  const char *name;
  tl_status (*run)(const BackendVTable &, const Arguments &);
  std::uint32_t op_count = 0;              // enumerators that there are; 0: the entry takes none
  std::size_t results = 1;                 // storages
  std::vector<std::uint64_t> counts = {};  // of the operands
  std::vector<std::uint64_t> numbers = {};
  std::vector<std::byte> params = {};
  const void *host_input = nullptr;
  void *host_output = nullptr;
  // Of its own; those that many entries share are made from the above.
  std::vector<Fault> faults = {};
  bool takes_encoded = false;
  // What some enumerators need otherwise.
  void (*adapt)(std::uint32_t op, DirectEntry &) = nullptr;
};

// Every entry that an operation names.
const std::vector<DirectEntry> &direct_entries();

// NULL where there is none.
const DirectEntry *find_entry(std::string_view family, std::string_view name);

// The parts of the table.
std::vector<DirectEntry> moving_entries();   // memory, transfer, view, indexing, random
std::vector<DirectEntry> plain_entries();    // elementwise, optimizer, reduction, matmul
std::vector<DirectEntry> layered_entries();  // normalization, loss, fourier, scan, windows

template <class Params>
std::vector<std::byte> bytes_of(const Params &params) {
  std::vector<std::byte> bytes(sizeof params);
  std::memcpy(bytes.data(), &params, sizeof params);
  return bytes;
}

inline constexpr std::uint64_t huge = std::uint64_t{1} << 63U;

// The k-th count or extent has this value instead.
template <std::size_t k, std::uint64_t value>
inline constexpr Fault number = {value == huge ? "extent-huge"
                                 : value == 0  ? "extent-0"
                                               : "extent-that-does-not-fit",
                                 [](Arguments &a) { a.numbers[k] = value; }};

}  // namespace torchlean::tools
