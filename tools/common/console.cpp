// Columns, colours, progress.
#include "common/console.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace torchlean::tools {
namespace {

bool wants_colour() {
  static const bool wanted = [] {
    const char *no_colour = std::getenv("NO_COLOR");
    const char *terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0') &&
           terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
  }();
  return wanted;
}

// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string coloured(std::string_view text, Colour colour) {
  static constexpr std::array<const char *, 5> codes = {"0", "32", "33", "31", "1"};
  if (colour == Colour::none || !wants_colour()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", codes[static_cast<std::size_t>(colour)], text);
}

void Table::add(std::vector<std::string> cells, Colour colour) {
  rows_.push_back({std::move(cells), colour});
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const Row &row : rows_) {
    widths.resize(std::max(widths.size(), row.cells.size()));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row.cells[i]));
    }
  }
  std::string text;
  for (const Row &row : rows_) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      line += row.cells[i];
      line.append(widths[i] - width_of(row.cells[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += coloured(line, row.colour) + "\n";
  }
  return text;
}

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() { clear(); }

void Progress::show(std::string_view text) {
  if (!on_terminal_) return;
  fmt::print(stderr, "\r{:<78.78}", text);
  shown_ = true;
}

void Progress::clear() {
  if (shown_) fmt::print(stderr, "\r{:<78}\r", "");
  shown_ = false;
}

void print_json(const nlohmann::ordered_json &record) {
  fmt::print("{}\n", record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string bytes_text(unsigned long long bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace torchlean::tools
