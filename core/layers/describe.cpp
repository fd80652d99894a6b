// Words for calls.
#include "layers/describe.hpp"

#include <fmt/format.h>

#include <string_view>

#include "dispatch/operations.hpp"
#include "status/thread_state.hpp"

namespace torchlean {

void Arguments::add_operand(const tl_operand *operand) {
  static constexpr const char *names[] = {"f32", "f64", "encoded"};
  if (operand == nullptr) return;
  words_ += fmt::format(" {}[{}]", operand->dtype < TL_DTYPE_COUNT ? names[operand->dtype] : "?",
                        operand->count);
  operand_bytes_ += operand->count * operand->width;
}

void Arguments::add_number(double number) { words_ += fmt::format(" {}", number); }

void Arguments::add_number(std::uint64_t number) { words_ += fmt::format(" {}", number); }

Event event_of(const char *family, const char *entry) {
  const ThreadState &thread = thread_state();
  const bool is_own = std::string_view(family) == "device" || std::string_view(entry) == "release";
  if (thread.operation == TL_OP_COUNT || is_own) return {entry, 0};
  return {operation_name(thread.operation), thread.result_bytes};
}

}  // namespace torchlean
