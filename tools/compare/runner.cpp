// One case on one backend.
#include "compare/runner.hpp"

#include "common/float_state.hpp"
#include "compare/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace torchlean::tools {
namespace {

Inputs upload_inputs(const Case &one) {
  Inputs inputs;
  for (const Array &array : one.inputs) inputs.push_back(to_backend(array));
  return inputs;
}

// Where the second differs from the first; empty if it has the same bits.
std::string difference(const Array &first, const Array &second) {
  if (first.size() != second.size()) {
    return fmt::format("{} elements instead of {}", second.size(), first.size());
  }
  for (std::uint64_t i = 0; i < first.size(); ++i) {
    if (first.bits[i] != second.bits[i]) {
      return fmt::format("element {} is {} instead of {}", i,
                         describe(second.dtype, second.bits[i]),
                         describe(first.dtype, first.bits[i]));
    }
  }
  return "";
}

std::string difference(const Outcome &first, const Outcome &second) {
  if (first.replay != second.replay) return "the replay flag is another";
  for (std::size_t k = 0; k < first.outputs.size(); ++k) {
    const std::string found = difference(first.outputs[k], second.outputs[k]);
    if (!found.empty()) return fmt::format("output {}, {}", k, found);
  }
  return "";
}

std::string changed_inputs(const Case &one, const Inputs &inputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string found = difference(one.inputs[k], from_backend(inputs[k]));
    if (!found.empty()) return fmt::format("the call changed its input {}: {}", k, found);
  }
  return "";
}

void use_threads(std::uint32_t threads) {
  const tl_status status = tl_set_num_threads(threads);
  if (status != TL_UNSUPPORTED) check(status);  // a backend without the feature has one count
}

std::string threads_text(std::uint32_t threads) {
  return threads == 0 ? "" : fmt::format(" with {} thread{}", threads, threads == 1 ? "" : "s");
}

constexpr const char *changed_state =
    "the call changed the thread's rounding mode or flush-to-zero state";

// One more call is made in a careless program's state where the inputs are short.
bool is_short(const Case &one) {
  return std::all_of(one.inputs.begin(), one.inputs.end(),
                     [](const Array &input) { return input.size() <= 300; });
}

// The caller's floating-point state neither matters nor changes (rule B9).
std::string careless_call(const Operation &row, const Case &one, const Inputs &inputs,
                          const Outcome &first) {
  Outcome outcome;
  {
    const CarelessFloatState careless;
    const FloatState state;
    outcome = row.run(one, inputs);
    if (!(FloatState() == state)) return changed_state;
  }
  const std::string found = difference(first, outcome);
  if (found.empty()) return "";
  return "with upward rounding and flush-to-zero on the calling thread there are other bits: " +
         found;
}

// The repetitions at one number of threads (0: the backend's choice).
std::string repeat_call(const Operation &row, const Case &one, const Inputs &inputs,
                        const Conditions &conditions, std::uint32_t threads, Result &result) {
  if (threads != 0) use_threads(threads);
  std::optional<Outcome> first;
  for (std::uint32_t i = 0; i < conditions.repeat; ++i) {
    const KeepFloatState keep;
    const FloatState state;
    Outcome outcome = row.run(one, inputs);
    if (!(FloatState() == state)) return changed_state;
    if (std::string changed = changed_inputs(one, inputs); !changed.empty()) return changed;
    if (first) {
      const std::string found = difference(*first, outcome);
      if (!found.empty()) {
        return fmt::format("repetition {}{} has other bits: {}", i + 1, threads_text(threads),
                           found);
      }
    } else {
      first = std::move(outcome);
    }
  }
  if (is_short(one)) {
    if (std::string found = careless_call(row, one, inputs, *first); !found.empty()) return found;
  }
  if (conditions.is_deterministic && !result.outcomes.empty()) {
    const std::string found = difference(result.outcomes[0], *first);
    if (found.empty()) return "";
    return fmt::format("other bits{} than{}, in deterministic mode: {}", threads_text(threads),
                       threads_text(conditions.threads[0]), found);
  }
  result.outcomes.push_back(std::move(*first));
  return "";
}

std::string text_of(const Error &error) {
  return fmt::format("{}: {}", tl_status_name(error.status()), error.what());
}

bool same_counters(const tl_counters &a, const tl_counters &b) {
  return a.live_bytes == b.live_bytes && a.created_bytes == b.created_bytes &&
         a.retired_bytes == b.retired_bytes && a.live_buffers == b.live_buffers &&
         a.created_buffers == b.created_buffers && a.retired_buffers == b.retired_buffers;
}

}  // namespace

Result run_case(const Operation &row, const Case &one, const Backend &backend,
                const Conditions &conditions) {
  const ThreadBackend guard(backend);
  const std::uint64_t damages = tl_guard_damages();
  Result result;
  try {
    const Inputs inputs = upload_inputs(one);
    std::vector<std::uint32_t> threads = conditions.threads;
    if (threads.empty()) threads = {0};
    for (const std::uint32_t count : threads) {
      result.error = repeat_call(row, one, inputs, conditions, count, result);
      if (result.error.empty() && one.kind == place_kind) result.error = differing_place(row, one);
      if (!result.error.empty()) break;
    }
  } catch (const Error &error) {
    result.error = text_of(error);
  } catch (const std::exception &error) {
    result.error = error.what();
  }
  // Damage shows when a block is freed: all buffers of the call are gone by now.
  if (tl_guard_damages() != damages) {
    result.error = fmt::format("wrote outside the host memory that it had asked for{}{}",
                               result.error.empty() ? "" : "; ", result.error);
  }
  return result;
}

std::string run_refusal(const Operation &row, const Case &one, const Backend &backend) {
  const ThreadBackend guard(backend);
  try {
    Inputs inputs = upload_inputs(one);
    if (one.released) inputs[*one.released].release();
    const tl_counters before = counters();
    try {
      if (one.wrong_call != nullptr) {
        one.wrong_call(one, inputs);
      } else {
        row.run(one, inputs);
      }
      return "a wrong argument was accepted";
    } catch (const Error &error) {
      if (error.status() != TL_INVALID_ARGUMENT || *error.what() == '\0') {
        return fmt::format("a wrong argument was refused with \"{}\", expected \"{}: ...\"",
                           text_of(error), tl_status_name(TL_INVALID_ARGUMENT));
      }
    }
    if (!same_counters(before, counters())) return "a refused call changed the counters";
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

}  // namespace torchlean::tools
