// torchlean: asks the runtime what it found and judges backends. One folder per subcommand; the
// command line of all of them stands here, so that CLI11 is compiled once.
#include "bench/command.hpp"
#include "common/exit_code.hpp"
#include "compare/command.hpp"
#include "doctor/doctor.hpp"
#include "env/env.hpp"
#include "ops/ops.hpp"
#include "status/status.hpp"

#include <CLI/CLI.hpp>
#include <torchlean/runtime.hpp>

#include <functional>
#include <memory>

namespace torchlean::tools {
namespace {

// What a subcommand does if it was asked for; returns the exit code.
using Action = std::function<int()>;

CLI::Option *add_json(CLI::App &sub, bool &json) {
  return sub.add_flag("--json", json, "Print JSON");
}

// In seconds; the subcommand gets milliseconds.
CLI::Option *add_time_limit(CLI::App &sub, std::chrono::milliseconds &limit, double fallback,
                            const char *meaning) {
  limit = std::chrono::milliseconds(static_cast<int>(fallback * 1000));
  const auto set = [&limit](const double &seconds) {
    limit = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  return sub.add_option_function<double>("--time-limit", set, meaning)
      ->check(CLI::Range(0.001, 86400.0))
      ->default_str(CLI::detail::to_string(fallback));
}

Action add_status(CLI::App &sub) {
  const auto options = std::make_shared<StatusOptions>();
  add_json(sub, options->json);
  CLI::Option *probe =
      sub.add_flag("--probe", options->probe, "Open each candidate in a process of its own first");
  add_time_limit(sub, options->time_limit, 30, "Seconds that one of them may take")->needs(probe);
  sub.add_option("--probe-task", options->task)->group("");  // what --probe starts
  sub.footer("Exit code 0 when a real backend serves or null was asked for, else 1.");
  return [options] { return run_status(*options); };
}

Action add_ops(CLI::App &sub) {
  const auto options = std::make_shared<OpsOptions>();
  add_json(sub, options->json);
  sub.add_option("--backends", options->backends,
                 "Names or paths, separated by commas (default: every candidate)")
      ->delimiter(',')
      ->type_name("NAMES");
  sub.add_option("--need", options->need,
                 "Say instead which of these operations, separated by commas, each backend lacks; "
                 "exit code 1 if any does")
      ->delimiter(',')
      ->type_name("OPERATIONS");
  sub.footer("Opens the backends. Exit code 4 when one that was named cannot be opened.");
  return [options] { return run_ops(*options); };
}

Action add_env(CLI::App &sub) {
  const auto options = std::make_shared<EnvOptions>();
  add_json(sub, options->json);
  return [options] { return run_env(*options); };
}

Action add_doctor(CLI::App &sub) {
  const auto options = std::make_shared<DoctorOptions>();
  add_json(sub, options->json);
  add_time_limit(sub, options->time_limit, 30,
                 "Seconds that a backend may take to open, in a process of its own");
  sub.footer("Home folders and secrets are masked. Exit codes as of `torchlean status`.");
  return [options] { return run_doctor(*options); };
}

Action add_compare(CLI::App &sub) {
  const auto options = std::make_shared<CompareOptions>();
  sub.add_option("--backends", options->backends,
                 "Names or paths, separated by commas; a lone one is compared with the reference "
                 "(default: the reference and every other candidate that is usable)")
      ->delimiter(',')
      ->type_name("NAMES");
  sub.add_option("--ops", options->operations,
                 "Operations, or cases as failures print them, separated by commas; * and ? stand "
                 "for anything: 'reduce_*', 'add[float32, ordinary, n=257]'")
      ->type_name("GLOBS");
  sub.add_option("--dtype", options->dtypes, "float32, float64, encoded (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(compare_dtypes()));
  sub.add_option("--seed", options->selection.seed, "The same seed gives the same inputs")
      ->capture_default_str();
  sub.add_option("--size", options->size, "small, default or large")
      ->capture_default_str()
      ->check(CLI::IsMember({"small", "default", "large"}));
  sub.add_option("--repeat", options->conditions.repeat,
                 "Make every call so often; its bits must not change")
      ->capture_default_str()
      ->check(CLI::Range(1U, 1000U));
  sub.add_option("--threads", options->conditions.threads,
                 "Numbers of host threads to compute with, separated by commas; every call is "
                 "made with each")
      ->delimiter(',')
      ->check(CLI::Range(1U, 4096U))
      ->type_name("N[,M..]");
  sub.add_flag("--deterministic", options->conditions.is_deterministic,
               "In deterministic mode: sums agree bit for bit between backends, and every result "
               "at any number of threads");
  CLI::Option *isolate = sub.add_flag("--isolate", options->isolate,
                                      "Run each backend in a process of its own, so that a crash "
                                      "or a hang is a failure like others");
  sub.add_option("--time-limit", options->time_limit, "Seconds that one case may take")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0))
      ->needs(isolate);
  sub.add_option("--corpus", options->corpus,
                 "File of cases that failed before: they run first, new ones are added")
      ->type_name("FILE");
  add_json(sub, options->json);
  sub.add_option("--junit", options->junit, "Write JUnit XML too")->type_name("FILE");
  sub.footer(
      "Exit code 0: compared and agreed; 1: disagreed; 2: wrong usage; 3: nothing was compared;\n"
      "4: a requested backend is unavailable. A value is judged by the bound that\n"
      "docs/operations.md states for its operation; margin is what is left of it.");
  const auto add_role = [&](const char *name, const char *meaning, CompareRole role) {
    CLI::App *process = sub.add_subcommand(name, meaning)->group("");
    process->add_option("--after", options->selection.after);
    process->callback([options, role] { options->role = role; });
    return process;
  };
  add_role("worker", "A worker process of --isolate", CompareRole::worker);
  add_role("direct", "A process of direct calls", CompareRole::direct)
      ->add_option("--after-case", options->after_case);
  return [options] { return run_compare(*options); };
}

Action add_bench(CLI::App &sub) {
  const auto options = std::make_shared<BenchOptions>();
  sub.add_option("--backends", options->backends,
                 "Names or paths, separated by commas; ratios are to the first (default: libtorch "
                 "and every other candidate that is usable and not made for checking)")
      ->delimiter(',')
      ->type_name("NAMES");
  sub.add_option("--ops", options->operations,
                 "Operations or rows as --list prints them, separated by commas; * and ? stand for "
                 "anything: 'reduce_*', 'softmax[float32, large, *]'")
      ->type_name("GLOBS");
  sub.add_option("--dtype", options->dtypes, "float32, float64 (default: both)")
      ->delimiter(',')
      ->check(CLI::IsMember({"float32", "float64"}));
  sub.add_option("--size", options->sizes,
                 "small, medium, large, or a number of elements (default: the first three)")
      ->delimiter(',')
      ->type_name("SIZES");
  sub.add_option("--threads", options->threads,
                 "Host threads of each backend (default: as many as processors may be used)")
      ->check(CLI::Range(1U, 4096U));
  sub.add_option("--time", options->seconds,
                 "Seconds of timed calls in each row, shared by the backends")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 3600.0));
  CLI::Option *json = add_json(sub, options->json);
  sub.add_flag("--list", options->list, "Print the rows that are selected, and time nothing")
      ->excludes(json);
  sub.footer(
      "Exit code 0: measured; 1: a call failed or a result differs; 2: wrong usage; 3: nothing "
      "was\n"
      "measured; 4: a requested backend is unavailable.");
  return [options] { return run_bench(*options); };
}

struct Subcommand {
  const char *name;
  const char *meaning;
  Action (*add)(CLI::App &);
};

constexpr Subcommand subcommands[] = {
    {"status", "What was asked for, what was found, what serves and why", add_status},
    {"ops", "Which backend has which operation for which dtype", add_ops},
    {"env", "Every environment variable: value, default, meaning", add_env},
    {"compare", "Hold backends against each other", add_compare},
    {"bench", "Time operations on several backends side by side", add_bench},
    {"doctor", "One report to paste into a bug", add_doctor}};

}  // namespace
}  // namespace torchlean::tools

int main(int argc, char **argv) {
  using namespace torchlean::tools;
  CLI::App app("Shows what the torchlean runtime found on this machine and compares backends.",
               "torchlean");
  app.set_version_flag("--version", std::string("torchlean ") + tl_version());
  app.require_subcommand(1);
  app.footer("TORCHLEAN_BACKEND chooses the backend; `torchlean env` lists all variables.");
  Action asked_for;
  for (const Subcommand &subcommand : subcommands) {
    CLI::App *sub = app.add_subcommand(subcommand.name, subcommand.meaning);
    sub->final_callback([&asked_for, action = subcommand.add(*sub)] { asked_for = action; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exit_success : exit_usage;
  }
  return torchlean::run_main([&] { return asked_for(); });
}
