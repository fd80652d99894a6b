// How layers word a call of an entry.
#pragma once

#include <torchlean/backend.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace torchlean {

// A call's arguments: operands by dtype and size, numbers as they are; anything else is left out.
class Arguments {
 public:
  template <class... Values>
  explicit Arguments(const Values &...values) {
    (add(values), ...);
  }

  const std::string &words() const { return words_; }  // each after a space
  std::uint64_t operand_bytes() const { return operand_bytes_; }

 private:
  template <class Value>
  void add(const Value &value) {
    if constexpr (std::is_same_v<Value, const tl_operand *>) {
      add_operand(value);
    } else if constexpr (std::is_floating_point_v<Value>) {
      add_number(value);
    } else if constexpr (std::is_unsigned_v<Value>) {
      add_number(std::uint64_t{value});
    }
  }
  void add_operand(const tl_operand *operand);
  void add_number(double number);
  void add_number(std::uint64_t number);

  std::string words_;
  std::uint64_t operand_bytes_ = 0;
};

// What a call is shown as: the operation under way, or the entry itself where that is not what an
// operation computes with.
struct Event {
  const char *name;
  std::uint64_t bytes_made;  // results of an operation
};
Event event_of(const char *family, const char *entry);

}  // namespace torchlean
