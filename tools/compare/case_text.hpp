// Cases as text: patterns that select generated cases, and literal cases that carry their inputs.
//
//   add                                      an operation; * and ? stand for anything
//   add[float32]                             ... of one dtype
//   add[float32, ordinary, n=257]            one generated case; each part is a pattern
//   add[float32, literal, in=3f800000*4:0, in=40000000*5]
//                                            one literal case: words as hexadecimal bits, *N
//                                            repeats a word
//
// Members of a literal case beside `in`: scalars=0.5:nan, dims=2x3, out_dims=, axis_map=0.1.2,
// number=, indices= (words, too), length=, other=float64, matmul=BxMxNxP:NT;
// of windows leading=, channels=in:out, groups=, spatial=5x7, kernel=, stride=, before=, after=,
// dilation=. An input of another dtype than the case's is in.float64=, an encoded one
// in.<exponent bits>.<fraction bits>.<bias>.<encoding>=.
#pragma once

#include "compare/cases.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchlean::tools {

// Everything of the case as one line, which parse_selector takes back.
std::string literal_text(const Case &one);

struct Selector {
  std::string operation;           // a pattern
  std::vector<std::string> parts;  // patterns of dtype, kind and shape, as many as were given
  std::optional<Case> literal;     // the case itself

  bool wants_operation(const std::string &name) const;
  bool wants_dtype(tl_dtype dtype) const;
  bool wants_case(const Case &one) const;  // of a generated case
  bool picks_cases() const { return parts.size() > 1; }
};

// Throws std::invalid_argument with what is wrong.
Selector parse_selector(std::string_view text);

// The selectors of a list; commas inside brackets do not separate.
std::vector<std::string> split_selectors(std::string_view list);

// At most `most` characters, bytes that do not print replaced: for messages.
std::string printable(std::string_view text, std::size_t most = 60);

}  // namespace torchlean::tools
