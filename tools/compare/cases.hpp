// Cases: one call of one operation with its inputs, reproducible from its name and the seed.
//
// A generated case is named "add[float32, ordinary, n=257]"; its inputs follow from the seed and
// that name. A literal case carries all it needs in its name (case_text.hpp).
#pragma once

#include "compare/values.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchlean::tools {

enum class Size { small, standard, large };

// "small", "default", "large"
const char *size_name(Size size);
std::optional<Size> size_of(std::string_view name);

// The inputs of a case on the thread's backend.
using Inputs = std::vector<Buffer>;

// Windows of a convolution or a pool; lists have one entry per spatial axis. Where the operation
// has one padding for both sides and no dilation, `after` and `dilation` are empty.
struct WindowShape {
  std::vector<std::uint64_t> leading;  // axes in front of the channels
  std::uint64_t in_channels = 0;
  std::uint64_t out_channels = 0;  // of convolutions
  std::uint64_t groups = 1;
  std::vector<std::uint64_t> in;
  std::vector<std::uint64_t> kernel;
  std::vector<std::uint64_t> stride;
  std::vector<std::uint64_t> before;  // padding
  std::vector<std::uint64_t> after;
  std::vector<std::uint64_t> dilation;
};

// Everything that a call takes. Which member means what, the operation's row says.
struct Case {
  std::string operation;
  tl_dtype dtype = TL_FLOAT32;
  std::string kind;   // "ordinary", "special" ...
  std::string shape;  // "n=257", "17x31"

  std::vector<Array> inputs;
  std::vector<double> scalars;
  std::vector<std::uint64_t> dims;      // rows and cols, or the dimensions of the input
  std::vector<std::uint64_t> out_dims;  // of broadcasts
  std::vector<std::uint64_t> axis_map;  // of broadcasts
  std::uint64_t number = 0;             // count, axis, depth, k, start or key
  std::uint64_t length = 0;             // of slices and random arrays
  tl_dtype other_dtype = TL_FLOAT32;    // source of uploads, target of downloads
  MatmulShape matmul;
  WindowShape windows;
  std::vector<std::uint32_t> indices;  // row numbers

  // Wrong arguments (rule T6): the call must be refused as such.
  bool must_be_refused = false;
  std::optional<std::size_t> released;  // the input that is released before the call
  // Makes the wrong call where the row's `run` cannot; throws Error.
  void (*wrong_call)(const Case &, const Inputs &) = nullptr;

  // What --ops takes.
  std::string name() const;
};

// The kind of a case that was parsed from its name.
inline constexpr std::string_view literal_kind = "literal";

// "2x3x4"; "scalar" for rank 0. No character of a pattern, since names of cases are patterns too.
std::string dims_text(const std::vector<std::uint64_t> &dims);
// 1 for rank 0.
std::uint64_t product_of(const std::vector<std::uint64_t> &dims);

// SplitMix64, seeded by the seed and the case's name: every case has its own numbers.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Hands the cases of one operation and dtype, one after another, to a sink.
class Generator {
 public:
  // `wanted` sees what names a case before its inputs are made.
  struct Plan {
    std::string operation;
    tl_dtype dtype;
    std::uint64_t seed;
    Size size;
    std::function<bool(const Case &)> wanted;
    std::function<void(const Case &)> sink;
  };
  explicit Generator(const Plan &plan) : plan_(plan) {}

  tl_dtype dtype() const { return plan_.dtype; }
  Size size() const { return plan_.size; }

  // `fill` completes the case. A kind and shape are used once per operation.
  void add(std::string_view kind, std::string_view shape,
           const std::function<void(Case &, Random &)> &fill) const;

  // A call with wrong arguments; `label` says what is wrong.
  void refuse(std::string_view label, const std::function<void(Case &, Random &)> &fill) const;

  // Lengths and shapes that the size asks for: empty, one, primes, powers of two and neighbours.
  std::vector<std::uint64_t> lengths() const;
  std::vector<std::vector<std::uint64_t>> matrices() const;

 private:
  Plan plan_;
};

// ---- Contents ----------------------------------------------------------------------------------

// Both signs, magnitudes around one.
Array ordinary_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Random words: every exponent, now and then infinities and NaNs.
Array wide_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Magnitudes below and around the smallest normal number.
Array tiny_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Large terms that nearly cancel each other.
Array cancelling_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Ordinary values with a few specials in between.
Array sprinkled_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Small whole numbers: many ties.
Array tied_values(Random &random, tl_dtype dtype, std::uint64_t count);
// So far apart that exponentials of their differences leave the dtype.
Array spread_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Ordinary values, and -Inf in between.
Array absent_values(Random &random, tl_dtype dtype, std::uint64_t count);
// Both signs, up to the largest finite number.
Array huge_values(Random &random, tl_dtype dtype, std::uint64_t count);

// One way to fill inputs, and its name among the kinds of cases.
struct ValueKind {
  const char *name;
  Array (*make)(Random &, tl_dtype, std::uint64_t);
};

// NaNs, infinities, zeros, subnormals, the largest numbers and the places where functions turn.
const std::vector<std::uint64_t> &special_words(tl_dtype dtype);

// Every combination of specials in `operands` arrays; a random choice where there would be too
// many.
std::vector<Array> special_combinations(Random &random, tl_dtype dtype, std::size_t operands);

// Random words of an encoded format.
Array encoded_words(Random &random, const tl_format &format, std::uint64_t count);

}  // namespace torchlean::tools
