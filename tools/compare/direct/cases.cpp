// Making the calls, and what each must end with.
#include "compare/direct/cases.hpp"

#include "common/float_state.hpp"
#include "compare/direct/calls.hpp"

#include <torchlean/runtime.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>

namespace torchlean::tools {
namespace {

// How an operation reaches its kernel.
struct Route {
  const char *family;
  const char *entry;
  std::uint32_t op;
  bool (*exists)(const BackendVTable &);
};

constexpr std::array<Route, TL_OP_COUNT> routes = {{
#define TL_OPERATION(name, family, entry, enumerator, ...)             \
  {#family, #entry, enumerator, [](const BackendVTable &table) {       \
     return table.family != nullptr && table.family->entry != nullptr; \
   }},
#include <torchlean/operations.def>
#undef TL_OPERATION
}};

// A fault with a name of its own; several answers may be right.
struct Trial {
  std::string label;
  std::function<void(Arguments &)> spoil;
  std::vector<tl_status> expected;
};

// One call: its operands, those that faults need besides, and its results.
class Call {
 public:
  Call(const Session &session, const DirectEntry &entry, std::uint32_t op, tl_dtype dtype)
      : session_(session), entry_(entry) {
    if (entry_.adapt != nullptr) entry_.adapt(op, entry_);
    for (const std::uint64_t count : entry_.counts) {
      buffers_.emplace_back(session, dtype, count == absent ? 0 : count);
    }
    arguments_.instance = session.instance();
    arguments_.op = op;
    arguments_.dtype = dtype;
    arguments_.width = dtype == TL_FLOAT32 ? 4 : dtype == TL_FLOAT64 ? 8 : 2;
    for (std::size_t k = 0; k < buffers_.size(); ++k) {
      arguments_.operands.push_back(entry_.counts[k] == absent ? nullptr : &buffers_[k].operand());
    }
    arguments_.numbers = entry_.numbers;
    arguments_.params = entry_.params;
    arguments_.host_input = entry_.host_input;
    arguments_.host_output = entry_.host_output;
    arguments_.out = out_.data();
    out_.fill(untouched());
  }

  const DirectEntry &entry() const { return entry_; }
  Arguments &arguments() { return arguments_; }

  // What went wrong, empty if nothing.
  std::string run(const std::vector<tl_status> &expected) {
    forget_host_error();
    const HostRecord before = host_record();
    const KeepFloatState keep;
    const FloatState state;
    const tl_status status = entry_.run(session_.table(), arguments_);
    const bool keeps_state = FloatState() == state;
    const HostRecord after = host_record();
    std::string problem;
    if (std::find(expected.begin(), expected.end(), status) == expected.end()) {
      problem = wrong_answer(status, expected, after.error);
    } else if (status == TL_OK) {
      problem = release_results(before);
    } else if (after.error.empty()) {
      problem = fmt::format("\"{}\" without an error text", tl_status_name(status));
    } else if (!all_untouched()) {
      problem = "a refused call wrote a result";
    } else if (after.live_bytes != before.live_bytes) {
      problem = "a refused call left memory allocated";
    }
    if (problem.empty() && !keeps_state) {
      problem = "the call changed the thread's rounding mode or flush-to-zero state";
    }
    if (problem.empty() && host_record().damages != before.damages) {
      problem = "wrote outside the host memory that it had asked for";
    }
    return problem;
  }

 private:
  // Where nothing is to be written.
  static tl_storage *untouched() {
    static int mark = 0;
    return reinterpret_cast<tl_storage *>(&mark);
  }
  bool all_untouched() const {
    return std::all_of(out_.begin(), out_.end(),
                       [](const tl_storage *storage) { return storage == untouched(); });
  }

  static std::string wrong_answer(tl_status status, const std::vector<tl_status> &expected,
                                  const std::string &error) {
    std::string wanted = fmt::format("\"{}\"", tl_status_name(expected.front()));
    if (expected.back() != expected.front()) {
      wanted += fmt::format(" or \"{}\"", tl_status_name(expected.back()));
    }
    const std::string text = status == TL_OK || error.empty() ? "" : ": " + error;
    return fmt::format("answered \"{}\"{}, expected {}", tl_status_name(status), text, wanted);
  }

  std::string release_results(const HostRecord &before) {
    for (std::size_t k = 0; k < out_.size(); ++k) {
      const bool is_result = k < entry_.results;
      if (is_result != (out_[k] != untouched()) || (is_result && out_[k] == nullptr)) {
        return is_result ? "ok without a result" : "ok with a result too many";
      }
    }
    for (std::size_t k = 0; k < entry_.results; ++k) {
      session_.table().memory->release(session_.instance(), out_[k]);
    }
    out_.fill(untouched());
    return host_record().live_bytes == before.live_bytes ? "" : "the call left memory allocated";
  }

  const Session &session_;
  DirectEntry entry_;
  std::vector<DirectBuffer> buffers_;
  Arguments arguments_;
  std::array<tl_storage *, 4> out_{};
};

// ---- Faults that many entries share ------------------------------------------------------------

// Operand k with one member changed.
template <class Change>
Trial changed_operand(std::string label, std::size_t k, Change change,
                      std::vector<tl_status> expected) {
  return {std::move(label),
          [k, change](Arguments &a) {
            static thread_local tl_operand operand;
            operand = *a.operands[k];
            change(operand);
            a.operands[k] = &operand;
          },
          std::move(expected)};
}

std::vector<Trial> operand_trials(const DirectEntry &entry, std::size_t k, tl_dtype dtype,
                                  const Session &session) {
  const std::vector<tl_status> invalid = {TL_INVALID_ARGUMENT};
  // Behind the first operand an unknown dtype is one that differs, too.
  std::vector<tl_status> unknown = {TL_UNSUPPORTED};
  if (k > 0) unknown.push_back(TL_INVALID_ARGUMENT);
  const auto label = [&](const char *what) { return fmt::format("operand-{}-{}", k, what); };
  std::vector<Trial> trials = {
      {label("NULL"), [k](Arguments &a) { a.operands[k] = nullptr; }, invalid},
      changed_operand(
          label("without-storage"), k, [](tl_operand &x) { x.storage = nullptr; }, invalid),
      changed_operand(
          label("longer-than-its-storage"), k, [](tl_operand &x) { ++x.count; }, invalid),
      changed_operand(
          label("width"), k, [](tl_operand &x) { x.width = 33; }, invalid),
      changed_operand(
          label("dtype-unknown"), k, [](tl_operand &x) { x.dtype = TL_DTYPE_COUNT; }, unknown)};
  const auto other = [&](const char *what, tl_dtype of, std::vector<tl_status> expected) {
    // The trial keeps the operand that it puts in, no longer than the session lives.
    trials.push_back(
        {label(what),
         [k, of, &session, kept = std::shared_ptr<DirectBuffer>()](Arguments &a) mutable {
           kept = std::make_shared<DirectBuffer>(session, of, a.operands[k]->count);
           a.operands[k] = &kept->operand();
         },
         std::move(expected)});
  };
  const auto given =
      static_cast<std::size_t>(std::count_if(entry.counts.begin(), entry.counts.end(),
                                             [](std::uint64_t count) { return count != absent; }));
  if (given > 1) other("other-dtype", dtype == TL_FLOAT32 ? TL_FLOAT64 : TL_FLOAT32, invalid);
  if (!entry.takes_encoded) {
    other("encoded", TL_ENCODED,
          given > 1 ? std::vector<tl_status>{TL_UNSUPPORTED, TL_INVALID_ARGUMENT}
                    : std::vector<tl_status>{TL_UNSUPPORTED});
  }
  return trials;
}

// `asks_for_ops`: whether the entry's enumerators are tried, too.
std::vector<Trial> trials_of(const DirectEntry &entry, tl_dtype dtype, const Session &session,
                             bool asks_for_ops) {
  const std::vector<tl_status> invalid = {TL_INVALID_ARGUMENT};
  const std::vector<tl_status> fine = {TL_OK};
  std::vector<Trial> trials = {
      {"instance-NULL", [](Arguments &a) { a.instance = nullptr; }, invalid}};
  if (entry.results > 0) {
    trials.push_back({"out-NULL", [](Arguments &a) { a.out = nullptr; }, invalid});
    trials.push_back({"flags-unknown", [](Arguments &a) { a.flags = 0x80000000U; }, fine});
  }
  if (asks_for_ops) {
    const auto count = entry.op_count;
    trials.push_back({"op-unknown", [count](Arguments &a) { a.op = count; }, {TL_UNSUPPORTED}});
    trials.push_back(
        {"op-without-number", [](Arguments &a) { a.op = TL_NO_ENUMERATOR; }, {TL_UNSUPPORTED}});
  }
  for (std::size_t k = 0; k < entry.counts.size(); ++k) {
    if (entry.counts[k] == absent) continue;
    for (Trial &trial : operand_trials(entry, k, dtype, session)) {
      trials.push_back(std::move(trial));
    }
  }
  if (!entry.params.empty()) {
    const auto set_size = [](Arguments &a, std::size_t size) {
      std::memcpy(a.params.data(), &size, sizeof size);
    };
    trials.push_back({"params-NULL", [](Arguments &a) { a.has_params = false; }, invalid});
    trials.push_back({"params-of-half-their-size",
                      [set_size](Arguments &a) { set_size(a, a.params.size() / 2); }, invalid});
    trials.push_back({"params-of-a-later-form",
                      [set_size](Arguments &a) {
                        a.params.resize(a.params.size() + 64);
                        set_size(a, a.params.size());
                      },
                      fine});
  }
  for (const Fault &fault : entry.faults) {
    trials.push_back({fault.label, fault.spoil, {fault.expected, fault.also}});
  }
  return trials;
}

// ---- What a backend says of itself -------------------------------------------------------------

bool claims(const Session &session, tl_operation operation, tl_dtype dtype) {
  return session.table().supports(session.instance(), operation, dtype) == TL_OK;
}

bool same_entry(tl_operation a, tl_operation b) {
  return std::strcmp(routes[a].family, routes[b].family) == 0 &&
         std::strcmp(routes[a].entry, routes[b].entry) == 0;
}

// Whether the call that would show it is another operation's, too, which is claimed.
bool is_claimed_otherwise(const Session &session, tl_operation operation, tl_dtype dtype) {
  for (tl_operation other = 0; other < TL_OP_COUNT; ++other) {
    if (same_entry(operation, other) && routes[other].op == routes[operation].op &&
        claims(session, other, dtype)) {
      return true;
    }
  }
  return false;
}

// Enumerators that nobody knows are tried once for each entry, at its first operation.
bool asks_for_ops(const Session &session, tl_operation operation, tl_dtype dtype) {
  if (find_entry(routes[operation].family, routes[operation].entry)->op_count == 0) return false;
  for (tl_operation other = 0; other < operation; ++other) {
    if (same_entry(operation, other) && claims(session, other, dtype)) return false;
  }
  return true;
}

constexpr const char *coverage_label = "supports";

}  // namespace

const std::vector<DirectEntry> &direct_entries() {
  static const std::vector<DirectEntry> table = [] {
    std::vector<DirectEntry> entries;
    for (const auto part : {moving_entries, plain_entries, layered_entries}) {
      const std::vector<DirectEntry> more = part();
      entries.insert(entries.end(), more.begin(), more.end());
    }
    return entries;
  }();
  return table;
}

const DirectEntry *find_entry(std::string_view family, std::string_view name) {
  for (const DirectEntry &entry : direct_entries()) {
    if (family == entry.family && name == entry.name) return &entry;
  }
  return nullptr;
}

std::vector<std::string> direct_labels(const Session &session, tl_operation operation,
                                       tl_dtype dtype) {
  const Route &route = routes.at(operation);
  std::vector<std::string> labels = {coverage_label};
  if (!route.exists(session.table()) || !claims(session, operation, dtype)) return labels;
  DirectEntry entry = *find_entry(route.family, route.entry);
  if (entry.adapt != nullptr) entry.adapt(route.op, entry);
  for (const Trial &trial :
       trials_of(entry, dtype, session, asks_for_ops(session, operation, dtype))) {
    labels.push_back(trial.label);
  }
  return labels;
}

std::string run_direct(const Session &session, tl_operation operation, tl_dtype dtype,
                       const std::string &label) {
  const Route &route = routes.at(operation);
  const bool is_claimed = claims(session, operation, dtype);
  if (claims(session, operation, TL_DTYPE_COUNT)) return "supports() claims an unknown dtype";
  if (!route.exists(session.table())) {
    // The core answers in its place.
    return is_claimed ? "supports() claims it, but the table lacks its entry" : "";
  }
  const DirectEntry &entry = *find_entry(route.family, route.entry);
  if (label == coverage_label && !is_claimed) {
    const bool takes_any_dtype = entry.counts.empty() && entry.numbers.empty();  // as dgemm
    if (takes_any_dtype || is_claimed_otherwise(session, operation, dtype)) return "";
  }
  try {
    Call call(session, entry, route.op, dtype);
    if (label == coverage_label) {
      const std::string problem = call.run({is_claimed ? TL_OK : TL_UNSUPPORTED});
      if (problem.empty()) return "";
      return fmt::format("supports() says {}, but a good call {}", is_claimed ? "yes" : "no",
                         problem);
    }
    for (const Trial &trial :
         trials_of(call.entry(), dtype, session, asks_for_ops(session, operation, dtype))) {
      if (trial.label != label) continue;
      trial.spoil(call.arguments());
      return call.run(trial.expected);
    }
  } catch (const std::runtime_error &) {
    // Without operands nothing can be tried; that they cannot be made, `upload` shows.
  }
  return "";
}

}  // namespace torchlean::tools
