// `torchlean doctor`: what is wrong stands first, and nothing private is in it.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/probe.hpp"

using nlohmann::json;
using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

Finished doctor(const std::map<std::string, std::string> &environment, bool as_json = true) {
  std::vector<std::string> command = {TORCHLEAN, "doctor", "--time-limit", "20"};
  if (as_json) command.emplace_back("--json");
  return run(command, environment);
}

std::string path_of(const std::string &kind) {
  return std::string(BAD_FOLDER) + "/torchlean_bad-" + kind + ".so";
}

}  // namespace

TEST_CASE("a healthy process has its versions, candidates and environment in the report") {
  const Finished finished = doctor({{"TORCHLEAN_BACKEND", "reference"}, {"OMP_NUM_THREADS", "3"}});
  CHECK(finished.exit_code == 0);
  const json report = json::parse(finished.out);
  CHECK(report["version"] != "");
  CHECK(contains(report["system"]["kernel"], "Linux"));
  CHECK(contains(report["system"]["libc"], "glibc"));
  CHECK(report["environment"]["OMP_NUM_THREADS"] == "3");
  CHECK(report["environment"]["TORCHLEAN_BACKEND"] == "reference");
  CHECK_FALSE(report["environment"].contains("PATH"));
  CHECK(report["status"]["serving"]["backend"] == "reference");
  bool is_tested = false;
  for (const json &probe : report["status"]["probes"]) {
    is_tested = is_tested || (probe["name"] == "reference" && probe["stage"] == "usable");
  }
  CHECK(is_tested);
}

TEST_CASE("what is wrong becomes a finding") {
  const std::string path = path_of("missing-library");
  const Finished finished = doctor({{"TORCHLEAN_BACKEND", path}});
  CHECK(finished.exit_code == 1);
  const std::string findings = json::parse(finished.out)["findings"].dump();
  CHECK(contains(findings, "no backend serves"));
  CHECK(contains(findings, "not found: libbad_dependency.so"));
  const json other = json::parse(doctor({{"TORCHLEAN_SYNCHRONOUS", "maybe"}}).out);
  CHECK(contains(other["findings"].dump(), "TORCHLEAN_SYNCHRONOUS: 'maybe' is not allowed"));
}

TEST_CASE("a backend that ends its process is a finding, too") {
  const Finished finished = doctor({{"TORCHLEAN_BACKEND", path_of("entry-aborts")}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(json::parse(finished.out)["findings"].dump(), "was ended by signal 6"));
}

TEST_CASE("home folders, secrets and passwords are masked, in the text as well") {
  for (const bool as_json : {false, true}) {
    const Finished finished = doctor({{"HOME", BAD_FOLDER},
                                      {"TORCHLEAN_BACKEND", path_of("create-fails")},
                                      {"CUDA_API_TOKEN", "hunter2"},
                                      {"OMP_PLACES", "https://me:hunter3@example.invalid/x"}},
                                     as_json);
    CHECK_FALSE(contains(finished.out, BAD_FOLDER));
    CHECK(contains(finished.out, "~/torchlean_bad-create-fails.so"));
    CHECK_FALSE(contains(finished.out, "hunter"));
    CHECK(contains(finished.out, "https://***@example.invalid/x"));
  }
}
