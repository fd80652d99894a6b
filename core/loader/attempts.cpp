// The list of attempt records and the texts that it hands out.
#include "loader/attempts.hpp"

#include <deque>
#include <mutex>
#include <set>

namespace torchlean {
namespace {

// Never destroyed: records and texts are valid for the life of the process.
struct State {
  std::mutex mutex;
  std::set<std::string, std::less<>> texts;
  std::deque<tl_attempt> records;
};

State &state() {
  static auto *instance = new State;
  return *instance;
}

const char *intern_locked(State &state, std::string_view text) {
  const auto found = state.texts.find(text);
  return (found != state.texts.end() ? found : state.texts.emplace(text).first)->c_str();
}

bool is_untried(const tl_attempt &attempt) {
  return attempt.stage <= TL_STAGE_INSPECTED && attempt.status == TL_OK;
}

}  // namespace

const char *intern(std::string_view text) {
  const std::lock_guard guard(state().mutex);
  return intern_locked(state(), text);
}

namespace attempts {

std::size_t record(const Attempt &attempt) {
  State &all = state();
  const std::lock_guard guard(all.mutex);
  const tl_attempt made = {
      .struct_size = sizeof(tl_attempt),
      .name = intern_locked(all, attempt.name),
      .path = intern_locked(all, attempt.path),
      .device = intern_locked(all, attempt.device),
      .stage = attempt.stage,
      .status = attempt.status,
      .is_serving = attempt.is_serving ? 1U : 0U,
      .reason = intern_locked(all, attempt.reason),
      .missing_libraries = intern_locked(all, attempt.missing_libraries),
      .built_for = intern_locked(all, attempt.built_for),
      .microseconds = attempt.microseconds,
  };
  // Texts are interned, so equal ones have equal addresses.
  for (std::size_t index = 0; index < all.records.size(); ++index) {
    tl_attempt &old = all.records[index];
    if (old.path != made.path || old.name != made.name) continue;
    const bool same = old.device == made.device && old.stage == made.stage &&
                      old.status == made.status && old.reason == made.reason;
    // What was only looked at says less than what was tried.
    if (same || is_untried(made)) return index;
    if (is_untried(old)) {
      old = made;
      return index;
    }
  }
  all.records.push_back(made);
  return all.records.size() - 1;
}

void mark_serving(std::size_t index) {
  const std::lock_guard guard(state().mutex);
  state().records[index].is_serving = 1;
}

std::size_t count() {
  const std::lock_guard guard(state().mutex);
  return state().records.size();
}

bool get(std::size_t index, tl_attempt &out) {
  const std::lock_guard guard(state().mutex);
  if (index >= state().records.size()) return false;
  out = state().records[index];
  return true;
}

}  // namespace attempts
}  // namespace torchlean
