// Choosing a backend.
#include "selection/choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "loader/attempts.hpp"
#include "loader/open.hpp"
#include "selection/driver.hpp"
#include "selection/variables.hpp"
#include "status/log.hpp"

namespace torchlean {
namespace {

// The order of automatic choice. Names that no file bears are passed over.
struct AutomaticWish {
  const char *name;
  const char *device;
};
constexpr AutomaticWish automatic_order[] = {
    {"libtorch", "cuda"}, {"cuda-native", "cuda"}, {"cpu", "cpu"},
    {"libtorch", "cpu"},  {"reference", "cpu"},
};

bool is_cuda(std::string_view device) { return device.starts_with("cuda"); }

void append_automatic(std::vector<Wish> &wishes, std::string_view device, bool has_driver,
                      bool require_cuda) {
  for (const AutomaticWish &wish : automatic_order) {
    const bool cuda = is_cuda(wish.device);
    if (cuda && !has_driver) continue;
    if (!cuda && require_cuda) continue;
    if (!device.empty() && is_cuda(device) != cuda) continue;
    wishes.push_back({wish.name, std::string(device.empty() ? wish.device : device), true});
  }
}

std::string known_names(const std::vector<Candidate> &candidates) {
  std::set<std::string> names = {"null"};
  for (const Candidate &candidate : candidates) {
    if (candidate.is_plausible()) names.insert(candidate.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// The first plausible candidate of that name, or the only broken one, whose problem then is the
// reason.
const Candidate *find_by_name(const std::vector<Candidate> &candidates, const std::string &name) {
  const Candidate *broken = nullptr;
  for (const Candidate &candidate : candidates) {
    if (candidate.name != name) continue;
    if (candidate.is_plausible()) return &candidate;
    if (broken == nullptr) broken = &candidate;
  }
  return broken;
}

OpenOptions open_options(const std::string &device) {
  return {.device = device,
          .num_threads = static_cast<std::uint32_t>(std::stoul(option("TORCHLEAN_NUM_THREADS"))),
          .has_nvidia_driver = has_nvidia_driver()};
}

// One try. Null: `failure` is one line for the message.
struct Trial {
  tl_backend *backend = nullptr;
  std::size_t record = 0;
  std::string failure;
  bool is_for_checking = false;
};

Trial unknown(const std::string &target, const std::string &device, std::string reason) {
  Attempt attempt;
  attempt.name = target;
  attempt.device = device;
  attempt.status = TL_UNAVAILABLE;
  attempt.reason = std::move(reason);
  Trial trial;
  trial.record = attempts::record(attempt);
  trial.failure = fmt::format("{}: {}", target, attempt.reason);
  return trial;
}

Trial try_candidate(const Candidate &candidate, const std::string &device) {
  Attempt attempt;
  Trial trial;
  trial.backend = open_backend(candidate, open_options(device), attempt);
  trial.record = attempts::record(attempt);
  trial.is_for_checking = candidate.has_flag(TL_NOTE_FOR_CHECKING);
  if (trial.backend == nullptr) {
    trial.failure =
        fmt::format("{} ({}): {} [came as far as: {}]", candidate.name, candidate.path.string(),
                    attempt.reason, tl_stage_name(attempt.stage));
    if (!attempt.missing_libraries.empty()) {
      trial.failure += fmt::format(" [missing libraries: {}]", attempt.missing_libraries);
    }
  }
  return trial;
}

Trial try_wish(const Wish &wish, const std::vector<Candidate> &candidates) {
  if (wish.target.find('/') != std::string::npos) {
    if (wish.target.front() != '/') {
      return unknown(wish.target, wish.device,
                     "a path must be absolute, so that the working directory "
                     "does not matter");
    }
    return try_candidate(inspect_candidate(wish.target), wish.device);
  }
  if (const Candidate *candidate = find_by_name(candidates, wish.target)) {
    return try_candidate(*candidate, wish.device);
  }
  return unknown(
      wish.target, wish.device,
      fmt::format("no backend of this name was found; known here: {}", known_names(candidates)));
}

// Candidates that were not tried say why.
void record_untried(const std::vector<Candidate> &candidates, const std::string &serving) {
  for (const Candidate &candidate : candidates) {
    Attempt attempt;
    attempt.name = candidate.name;
    attempt.path = candidate.path.string();
    attempt.stage = candidate.is_plausible() ? TL_STAGE_INSPECTED : TL_STAGE_FOUND;
    if (candidate.elf.facts && candidate.elf.facts->note) {
      attempt.built_for = candidate.elf.facts->note->built_for;
    }
    if (!candidate.is_plausible()) {
      attempt.status = TL_UNAVAILABLE;
      attempt.reason = candidate.problem;
    } else if (!candidate.shadowed_by.empty()) {
      attempt.reason = fmt::format("shadowed by {}", candidate.shadowed_by);
    } else if (candidate.has_flag(TL_NOTE_NEEDS_NVIDIA_DRIVER) && !has_nvidia_driver()) {
      attempt.reason = "no usable device (no NVIDIA driver)";
    } else if (candidate.has_flag(TL_NOTE_TEST_ONLY)) {
      attempt.reason = "for tests: serves only when asked for by name or path";
    } else {
      attempt.reason = fmt::format("not needed: {} serves", serving);
    }
    attempts::record(attempt);
  }
}

std::string device_asked() {
  const std::string &device = option("TORCHLEAN_DEVICE");
  return device.empty() ? option("TORCHLEAN_LIBTORCH_DEVICE") : device;
}

// What is wrong with the first variable that has a bad value.
std::string bad_variable() {
  for (const Variable &variable : variables()) {
    if (!variable.error.empty()) return variable.error;
  }
  return {};
}

Choice null_choice(const std::string &reason) {
  return {.backend = open_null_backend(reason), .reason = reason};
}

std::string nothing_serves(std::string_view asked, const std::vector<std::string> &failures,
                           const SearchPath &where, const std::vector<Candidate> &candidates,
                           bool require_cuda) {
  std::string text = fmt::format("no backend serves (TORCHLEAN_BACKEND={}{}):", asked,
                                 require_cuda ? ", TORCHLEAN_REQUIRE_CUDA=1" : "");
  for (const std::string &failure : failures) text += "\n  " + failure;
  if (failures.empty()) {
    text += require_cuda && !has_nvidia_driver() ? "\n  no NVIDIA driver was found"
                                                 : "\n  no candidate matches";
  }
  std::vector<std::string> folders;
  for (const auto &folder : where.folders) folders.push_back(folder.string());
  text += fmt::format("\nBackends found here: {}. Folders searched: {}.", known_names(candidates),
                      fmt::join(folders, ", "));
  for (const std::string &refused : where.refused) text += "\n" + refused;
  text +=
      "\nRemedy: correct the cause above, or choose another backend with TORCHLEAN_BACKEND; "
      "`torchlean status` lists every candidate.";
  return text;
}

std::string reason_to_serve(const Wish &wish, const std::vector<std::string> &failures) {
  std::string reason = wish.is_automatic ? "first usable one of the automatic order"
                                         : fmt::format("asked for as '{}'", wish.target);
  if (!failures.empty()) reason += fmt::format("; before it: {}", fmt::join(failures, "; "));
  return reason;
}

}  // namespace

std::vector<Wish> wishes_of(std::string_view asked, std::string_view device, bool has_driver,
                            bool require_cuda) {
  std::vector<Wish> wishes;
  while (true) {
    const std::size_t comma = asked.find(',');
    const std::string_view target = asked.substr(0, comma);
    if (target == "auto") {
      append_automatic(wishes, device, has_driver, require_cuda);
    } else if (!target.empty()) {
      wishes.push_back({std::string(target), std::string(device), false});
    }
    if (comma == std::string_view::npos) return wishes;
    asked.remove_prefix(comma + 1);
  }
}

Choice choose_backend() {
  if (const std::string error = bad_variable(); !error.empty()) return null_choice(error);
  const std::string &asked = option("TORCHLEAN_BACKEND");
  const bool require_cuda = option("TORCHLEAN_REQUIRE_CUDA") == "1";
  const SearchPath where = search_path();
  for (const std::string &refused : where.refused) log(TL_LOG_WARN, refused);
  const std::vector<Candidate> candidates = find_candidates(where);

  std::vector<std::string> failures;
  for (const Wish &wish : wishes_of(asked, device_asked(), has_nvidia_driver(), require_cuda)) {
    if (wish.target == "null") {
      record_untried(candidates, "null");
      return null_choice(
          fmt::format("the null backend was asked for (TORCHLEAN_BACKEND={}); choose "
                      "another to compute",
                      asked));
    }
    if (wish.is_automatic) {
      const Candidate *candidate = find_by_name(candidates, wish.target);
      if (candidate == nullptr || candidate->has_flag(TL_NOTE_TEST_ONLY)) continue;
    }
    const Trial trial = try_wish(wish, candidates);
    if (trial.backend == nullptr) {
      log(TL_LOG_DEBUG, trial.failure);
      failures.push_back(trial.failure);
      continue;
    }
    attempts::mark_serving(trial.record);
    record_untried(candidates, trial.backend->name);
    if (wish.is_automatic && has_nvidia_driver() && !is_cuda(wish.device) &&
        device_asked().empty()) {
      log(TL_LOG_WARN,
          fmt::format("an NVIDIA driver is present, but {} on the host serves: {}",
                      trial.backend->name,
                      failures.empty() ? "no CUDA backend was found"
                                       : fmt::format("{}", fmt::join(failures, "; "))));
    }
    return {.backend = trial.backend,
            .reason = reason_to_serve(wish, failures),
            .is_slow = trial.is_for_checking};
  }
  record_untried(candidates, "null");
  return null_choice(nothing_serves(asked, failures, where, candidates, require_cuda));
}

tl_backend *open_by_name(const std::string &name_or_path, const std::string &device,
                         std::string &reason) {
  if (name_or_path == "null") return open_null_backend("the null backend was asked for by name");
  reason = bad_variable();
  if (!reason.empty()) return nullptr;
  const Wish wish = {name_or_path, device.empty() ? device_asked() : device, false};
  Trial trial = try_wish(wish, find_candidates(search_path()));
  reason = std::move(trial.failure);
  return trial.backend;
}

}  // namespace torchlean
