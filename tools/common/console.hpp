// Writing to the console: columns, colours where they are wanted, one progress line, JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace torchlean::tools {

enum class Colour { none, green, yellow, red, bold };

// The text in that colour where stdout is a terminal that shows colours and NO_COLOR is not set;
// otherwise the text as it is.
std::string coloured(std::string_view text, Colour colour);

// Rows of left-aligned columns, two blanks apart; each line ends with its last word.
class Table {
 public:
  // Cells of a row; `colour` applies to all of it.
  void add(std::vector<std::string> cells, Colour colour = Colour::none);
  std::string text(std::string_view indent = "") const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Colour colour;
  };
  std::vector<Row> rows_;
};

// One line on stderr that is rewritten; silent unless stderr is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  void show(std::string_view text);
  void clear();

 private:
  bool on_terminal_;
  bool shown_ = false;
};

// Indented, one member a line; bytes that are no UTF-8 are replaced.
void print_json(const nlohmann::ordered_json &record);

// "1.5 GiB"
std::string bytes_text(unsigned long long bytes);

// The parts between the separators; none for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace torchlean::tools
