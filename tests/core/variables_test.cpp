// The table of environment variables: allowed values, nonsense, misspellings (rules L10, L13).
#include "selection/variables.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace torchlean;

namespace {

Environment environment_of(const std::map<std::string, std::string> &values, bool raised = false) {
  return read_environment(
      [&](const char *name) {
        const auto found = values.find(name);
        return found == values.end() ? nullptr : found->second.c_str();
      },
      raised);
}

const Variable &entry_of(const Environment &environment, std::string_view name) {
  for (const Variable &entry : environment.table) {
    if (entry.name == name) return entry;
  }
  FAIL("no such variable: " << name);
  return environment.table.front();
}

struct Allowed {
  const char *name;
  std::vector<const char *> good;
  std::vector<const char *> bad;
};

const std::vector<Allowed> table = {
    {"TORCHLEAN_BACKEND",
     {"auto", "reference", "cuda-native,libtorch,cpu", "/x/y.so", "nonsense"},
     {}},
    {"TORCHLEAN_BACKEND_PATH", {"/a", "/a:/b", ":/a:"}, {"relative", "/a:b", "."}},
    {"TORCHLEAN_CACHE", {"anything"}, {}},
    {"TORCHLEAN_CPU_TARGET", {"auto", "baseline", "avx2", "avx512"}, {"avx", "AVX2", "sse4", "1"}},
    {"TORCHLEAN_CUDA_DETERMINISTIC_REDUCTIONS", {"0", "1", "yes"}, {}},
    {"TORCHLEAN_DEVICE",
     {"cpu", "cuda", "cuda:0", "cuda:12"},
     {"gpu", "cuda:", "cuda:-1", "cuda:x"}},
    {"TORCHLEAN_EMULATION_SCHEDULE", {"0", "4294967295"}, {"4294967296", "-1", "x"}},
    {"TORCHLEAN_EMULATION_TAIL_BLOCKS", {"0", "2147483647"}, {"2147483648", "-1", "x"}},
    {"TORCHLEAN_GUARD", {"0", "1"}, {"2", "yes"}},
    {"TORCHLEAN_HOST_CACHE", {"0", "1024", "4294967295"}, {"4294967296", "-1", "1G"}},
    {"TORCHLEAN_LAYERS", {"trace", "trace,trace", "nvtx,trace"}, {"tracer", "trace,", ","}},
    {"TORCHLEAN_LIBTORCH", {"anything"}, {}},
    {"TORCHLEAN_LIBTORCH_DEVICE", {"cpu", "cuda:1"}, {"tpu"}},
    {"TORCHLEAN_LOG", {"debug", "info", "warn", "error", "off"}, {"verbose", "WARN", "1"}},
    {"TORCHLEAN_MEMORY_REPORT", {"0", "1"}, {"2", "on"}},
    {"TORCHLEAN_NUM_THREADS", {"0", "1", "4096"}, {"4097", "-1", "two", "1.5", " 1", "0x10"}},
    {"TORCHLEAN_ON_ERROR", {"panic", "poison"}, {"throw", "Poison", "1"}},
    {"TORCHLEAN_REQUIRE_CUDA", {"0", "1"}, {"2", "yes"}},
    {"TORCHLEAN_SYNCHRONOUS", {"0", "1"}, {"true"}},
    {"TORCHLEAN_TIMELINE", {"/tmp/timeline-%p.json"}, {"timeline.json", "~/timeline.json"}},
};

}  // namespace

TEST_CASE("L10: every variable takes its allowed values") {
  for (const Allowed &row : table) {
    for (const char *value : row.good) {
      const Environment environment = environment_of({{row.name, value}});
      const Variable &entry = entry_of(environment, row.name);
      CAPTURE(row.name);
      CHECK(entry.value == value);
      CHECK(entry.error.empty());
      CHECK(entry.is_set);
    }
  }
}

TEST_CASE("L10: nonsense is an error that names the variable and what is allowed") {
  for (const Allowed &row : table) {
    for (const char *value : row.bad) {
      const Environment environment = environment_of({{row.name, value}});
      const Variable &entry = entry_of(environment, row.name);
      CAPTURE(row.name);
      CAPTURE(value);
      CHECK(entry.error ==
            std::string(row.name) + ": '" + value + "' is not allowed; expected " + entry.allowed);
      CHECK(entry.value == entry.fallback);
    }
  }
}

TEST_CASE("L10: an empty value counts as unset") {
  for (const Allowed &row : table) {
    const Environment environment = environment_of({{row.name, ""}});
    const Variable &entry = entry_of(environment, row.name);
    CHECK_FALSE(entry.is_set);
    CHECK(entry.error.empty());
    CHECK(entry.value == entry.fallback);
  }
}

TEST_CASE("L10: every variable of the table is tested here") {
  CHECK(environment_of({}).table.size() == table.size());
  for (const Allowed &row : table) entry_of(environment_of({}), row.name);
}

TEST_CASE("L10: a default is itself allowed") {
  for (const Variable &entry : environment_of({}).table) {
    const Environment again = environment_of({{entry.name, entry.fallback}});
    CHECK(entry_of(again, entry.name).error.empty());
  }
}

TEST_CASE("L10: a misspelt name is answered with the nearest known one") {
  CHECK(misspelling("TORCHLEAN_BAKEND").find("did you mean TORCHLEAN_BACKEND?") !=
        std::string::npos);
  CHECK(misspelling("TORCHLEAN_LOGS").find("did you mean TORCHLEAN_LOG?") != std::string::npos);
  CHECK(misspelling("TORCHLEAN_BACKEND").empty());
  CHECK(misspelling("PATH").empty());
}

TEST_CASE("L13: with raised privileges variables that name files are ignored and named") {
  const Environment environment = environment_of({{"TORCHLEAN_BACKEND_PATH", "/a"},
                                                  {"TORCHLEAN_BACKEND", "/a/b.so"},
                                                  {"TORCHLEAN_LOG", "info"}},
                                                 true);
  CHECK_FALSE(entry_of(environment, "TORCHLEAN_BACKEND_PATH").is_set);
  CHECK(entry_of(environment, "TORCHLEAN_BACKEND").value == "auto");
  CHECK(entry_of(environment, "TORCHLEAN_LOG").value == "info");
  CHECK(environment.ignored == "TORCHLEAN_BACKEND TORCHLEAN_BACKEND_PATH");
}

TEST_CASE("L13: a backend's name is no file") {
  const Environment environment = environment_of({{"TORCHLEAN_BACKEND", "reference"}}, true);
  CHECK(entry_of(environment, "TORCHLEAN_BACKEND").value == "reference");
  CHECK(environment.ignored.empty());
}
