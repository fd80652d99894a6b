// Writing and reading cases. What is read may be arbitrary bytes (rule T10).
#include "compare/case_text.hpp"

#include "common/backends.hpp"
#include "common/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>

namespace torchlean::tools {
namespace {

constexpr std::uint64_t most_elements = std::uint64_t{1} << 24U;  // of all inputs together
constexpr std::size_t most_entries = 1024;                        // of a list

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
  throw std::invalid_argument(fmt::format(format, std::forward<Arguments>(arguments)...));
}

// ---- Writing -----------------------------------------------------------------------------------

// "3f800000*4:0"
std::string words_text(const std::vector<std::uint64_t> &words) {
  std::string text;
  for (std::size_t i = 0; i < words.size();) {
    std::size_t end = i + 1;
    while (end < words.size() && words[end] == words[i]) ++end;
    fmt::format_to(std::back_inserter(text), "{}{:x}", text.empty() ? "" : ":", words[i]);
    if (end - i > 1) fmt::format_to(std::back_inserter(text), "*{}", end - i);
    i = end;
  }
  return text;
}

std::string input_text(const Case &one, const Array &input) {
  std::string dtype;
  if (input.dtype == TL_ENCODED) {
    const tl_format &f = input.format;
    dtype = fmt::format(".{}.{}.{}.{}", f.exponent_bits, f.fraction_bits, f.exponent_bias,
                        unsigned{f.encoding});
  } else if (input.dtype != one.dtype) {
    dtype = fmt::format(".{}", dtype_name(input.dtype));
  }
  return fmt::format("in{}={}", dtype, words_text(input.bits));
}

// ---- Reading -----------------------------------------------------------------------------------

template <class Number, class... Base>
Number number_from(std::string_view text, const char *what, Base... base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    refuse("{}: '{}' is no {}", what, printable(text),
           sizeof...(base) > 0 ? "hexadecimal word of at most 64 bits" : "number");
  }
  return value;
}

tl_dtype dtype_from(std::string_view text) {
  for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
    if (text == dtype_name(dtype)) return dtype;
  }
  refuse("'{}' is no dtype, expected float32, float64 or encoded", printable(text));
}

template <class Number>
std::vector<Number> list_from(std::string_view text, char separator, const char *what) {
  const std::vector<std::string> parts = split(text, separator);
  if (parts.size() > most_entries) refuse("{}: more than {} entries", what, most_entries);
  std::vector<Number> values;
  values.reserve(parts.size());
  for (const std::string &part : parts) values.push_back(number_from<Number>(part, what));
  return values;
}

// ".float64" or ".8.7.127.0"; empty for the case's own.
Array empty_input(tl_dtype dtype, std::string_view suffix) {
  Array array{dtype, {}, {}};
  if (suffix.empty()) {
    if (dtype == TL_ENCODED) refuse("an encoded input needs its format: in.8.7.127.0=");
    return array;
  }
  const std::vector<std::string> parts = split(suffix, '.');
  if (parts.size() != 4) {
    array.dtype = dtype_from(suffix.substr(1));
    if (array.dtype == TL_ENCODED) refuse("an encoded input needs its format: in.8.7.127.0=");
    return array;
  }
  array.dtype = TL_ENCODED;
  array.format = {number_from<std::uint64_t>(parts[0], "exponent bits"),
                  number_from<std::uint64_t>(parts[1], "fraction bits"),
                  number_from<std::uint64_t>(parts[2], "bias"),
                  number_from<tl_encoding>(parts[3], "encoding")};
  std::uint32_t width = 0;
  check(tl_format_width(&array.format, &width));
  if (width > sizeof(std::uint64_t)) refuse("formats of more than 64 bits are not possible here");
  return array;
}

std::uint64_t largest_word(const Array &array) {
  if (array.dtype == TL_FLOAT32) return 0xFFFFFFFFU;
  if (array.dtype == TL_FLOAT64) return ~std::uint64_t{0};
  const std::uint64_t bits = 1 + array.format.exponent_bits + array.format.fraction_bits;
  return ~std::uint64_t{0} >> (64 - bits);
}

void read_words(std::string_view text, Array &array, std::uint64_t &room) {
  const std::uint64_t largest = largest_word(array);
  for (const std::string &part : split(text, ':')) {
    const std::size_t star = part.find('*');
    const auto word = number_from<std::uint64_t>(part.substr(0, star), "in", 16);
    const std::uint64_t count =
        star == std::string::npos ? 1 : number_from<std::uint64_t>(part.substr(star + 1), "in");
    if (word > largest) refuse("in: the word {:x} does not fit its dtype", word);
    if (count > room) refuse("in: more than {} elements in all", most_elements);
    room -= count;
    array.bits.insert(array.bits.end(), count, word);
  }
}

MatmulShape matmul_from(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::vector<std::uint64_t> dims =
      list_from<std::uint64_t>(text.substr(0, colon), 'x', "matmul");
  const std::string_view flags = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const auto is_flag = [](char c) { return c == 'N' || c == 'T'; };
  if (dims.size() != 4 || flags.size() != 2 || !is_flag(flags[0]) || !is_flag(flags[1])) {
    refuse("matmul: '{}' is not of the form 1x2x3x4:NT", printable(text));
  }
  return {dims[0], dims[1], dims[2], dims[3], flags[0] == 'T', flags[1] == 'T'};
}

// The lists of a window, by their keys.
struct WindowList {
  const char *key;
  std::vector<std::uint64_t> WindowShape::*list;
};
constexpr std::array window_lists = {
    WindowList{"leading", &WindowShape::leading},  WindowList{"spatial", &WindowShape::in},
    WindowList{"kernel", &WindowShape::kernel},    WindowList{"stride", &WindowShape::stride},
    WindowList{"before", &WindowShape::before},    WindowList{"after", &WindowShape::after},
    WindowList{"dilation", &WindowShape::dilation}};

// False where the key is no member of a window.
bool read_windows(std::string_view key, std::string_view value, WindowShape &windows) {
  for (const WindowList &entry : window_lists) {
    if (key != entry.key) continue;
    windows.*entry.list = list_from<std::uint64_t>(value, 'x', entry.key);
    return true;
  }
  if (key == "channels") {
    const auto channels = list_from<std::uint64_t>(value, ':', "channels");
    if (channels.size() != 2) refuse("channels: '{}' is not of the form 2:3", printable(value));
    windows.in_channels = channels[0];
    windows.out_channels = channels[1];
  } else if (key == "groups") {
    windows.groups = number_from<std::uint64_t>(value, "groups");
  }
  return key == "channels" || key == "groups";
}

Case literal_from(const Selector &selector) {
  Case one;
  one.operation = selector.operation;
  one.dtype = one.other_dtype = dtype_from(selector.parts[0]);
  one.kind = literal_kind;
  std::uint64_t room = most_elements;
  for (std::size_t i = 2; i < selector.parts.size(); ++i) {
    const std::string_view part = selector.parts[i];
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse("'{}' lacks a '='", printable(part));
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (key == "in" || key.substr(0, 3) == "in.") {
      one.inputs.push_back(empty_input(one.dtype, key.substr(2)));
      read_words(value, one.inputs.back(), room);
    } else if (key == "scalars") {
      one.scalars = list_from<double>(value, ':', "scalars");
    } else if (key == "dims") {
      one.dims = list_from<std::uint64_t>(value, 'x', "dims");
    } else if (key == "out_dims") {
      one.out_dims = list_from<std::uint64_t>(value, 'x', "out_dims");
    } else if (key == "axis_map") {
      one.axis_map = list_from<std::uint64_t>(value, '.', "axis_map");
    } else if (key == "number") {
      one.number = number_from<std::uint64_t>(value, "number");
    } else if (key == "indices") {
      Array words{TL_FLOAT32, {}, {}};  // 32 bits, too
      read_words(value, words, room);
      one.indices.assign(words.bits.begin(), words.bits.end());
    } else if (key == "length") {
      one.length = number_from<std::uint64_t>(value, "length");
    } else if (key == "other") {
      one.other_dtype = dtype_from(value);
    } else if (key == "matmul") {
      one.matmul = matmul_from(value);
    } else if (!read_windows(key, value, one.windows)) {
      refuse("'{}' is no member of a literal case", printable(key));
    }
  }
  return one;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace

std::string literal_text(const Case &one) {
  std::string text = fmt::format("{}[{}, {}", one.operation, dtype_name(one.dtype), literal_kind);
  for (const Array &input : one.inputs) text += ", " + input_text(one, input);
  const auto add = [&](bool is_set, const char *key, const std::string &value) {
    if (is_set) text += fmt::format(", {}={}", key, value);
  };
  add(!one.scalars.empty(), "scalars", fmt::format("{}", fmt::join(one.scalars, ":")));
  add(!one.dims.empty(), "dims", fmt::format("{}", fmt::join(one.dims, "x")));
  add(!one.out_dims.empty(), "out_dims", fmt::format("{}", fmt::join(one.out_dims, "x")));
  add(!one.axis_map.empty(), "axis_map", fmt::format("{}", fmt::join(one.axis_map, ".")));
  add(one.number != 0, "number", fmt::format("{}", one.number));
  add(!one.indices.empty(), "indices", words_text({one.indices.begin(), one.indices.end()}));
  add(one.length != 0, "length", fmt::format("{}", one.length));
  add(one.other_dtype != one.dtype, "other", dtype_name(one.other_dtype));
  const MatmulShape &shape = one.matmul;
  add(shape.m + shape.n + shape.p != 0, "matmul",
      fmt::format("{}x{}x{}x{}:{}{}", shape.batch, shape.m, shape.n, shape.p,
                  shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N'));
  const WindowShape &windows = one.windows;
  add(windows.in_channels + windows.out_channels != 0, "channels",
      fmt::format("{}:{}", windows.in_channels, windows.out_channels));
  add(windows.groups != 1, "groups", fmt::format("{}", windows.groups));
  for (const WindowList &entry : window_lists) {
    const std::vector<std::uint64_t> &list = windows.*entry.list;
    add(!list.empty(), entry.key, fmt::format("{}", fmt::join(list, "x")));
  }
  return text + "]";
}

bool Selector::wants_operation(const std::string &name) const { return matches(operation, name); }

bool Selector::wants_dtype(tl_dtype dtype) const {
  return parts.empty() || matches(parts[0], dtype_name(dtype));
}

bool Selector::wants_case(const Case &one) const {
  const std::array<std::string, 3> names = {dtype_name(one.dtype), one.kind, one.shape};
  if (literal || !wants_operation(one.operation)) return false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!matches(parts[i], names[i])) return false;
  }
  return true;
}

Selector parse_selector(std::string_view text) {
  const std::size_t bracket = text.find('[');
  Selector selector;
  selector.operation = trimmed(text.substr(0, bracket));
  const bool is_name =
      !selector.operation.empty() &&
      std::all_of(selector.operation.begin(), selector.operation.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '*' || c == '?';
      });
  if (!is_name) refuse("'{}' is no operation and no case", printable(text));
  if (bracket == std::string_view::npos) return selector;
  if (text.back() != ']' || text.find(']') + 1 != text.size()) {
    refuse("'{}' does not end with the ']' of its '['", printable(text));
  }
  text = text.substr(bracket + 1, text.size() - bracket - 2);
  for (const std::string &part : split(text, ',')) selector.parts.push_back(trimmed(part));
  if (selector.parts.size() > 1 && selector.parts[1] == literal_kind) {
    selector.literal = literal_from(selector);
  } else if (selector.parts.size() > 3) {
    refuse("'{}' has {} parts, expected dtype, kind and shape", printable(text),
           selector.parts.size());
  }
  return selector;
}

std::vector<std::string> split_selectors(std::string_view list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth <= 0) {
      parts.push_back(std::move(part));
      part.clear();
    } else {
      part += c;
    }
  }
  parts.push_back(std::move(part));
  std::erase_if(parts, [](const std::string &entry) { return trimmed(entry).empty(); });
  return parts;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return shown.size() < text.size() ? shown + "..." : shown;
}

}  // namespace torchlean::tools
