// `torchlean status --probe`: a candidate that ends or holds up its process leaves a reason.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/folder.hpp"
#include "support/probe.hpp"

using nlohmann::json;
using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::Folder;
using torchlean_test::run;
namespace fs = std::filesystem;

namespace {

using Environment = std::map<std::string, std::string>;

std::string path_of(const std::string &kind) {
  return std::string(BAD_FOLDER) + "/torchlean_bad-" + kind + ".so";
}

Finished probe(const Environment &environment, const std::vector<std::string> &more = {"--json"}) {
  std::vector<std::string> command = {TORCHLEAN, "status", "--probe", "--time-limit", TIME_LIMIT};
  command.insert(command.end(), more.begin(), more.end());
  return run(command, environment);
}

json probe_of(const json &status, const std::string &name) {
  for (const json &record : status["probes"]) {
    if (record["name"] == name) return record;
  }
  return json::object({{"stage", "none"}, {"reason", "not probed"}});
}

}  // namespace

TEST_CASE("a candidate that aborts, traps, exits or hangs becomes a recorded reason") {
  const Folder folder;
  const std::map<std::string, std::string> reasons = {
      {"entry-aborts", "the process that opened it was ended by signal 6"},
      // The core's own C++ runtime cannot catch what another's throws: rule B5 is for backends.
      {"entry-throws", THROWN},
      {"create-throws", THROWN},
      {"create-traps", "the process that opened it was ended by signal 4"},
      {"create-exits", "the process that opened it exited with code 0"},
      {"create-hangs", "the process that opened it gave no sign of life for " TIME_LIMIT " s"},
      {"create-fails", "no memory for a context"},
      {"good", ""},
  };
  for (const auto &[kind, reason] : reasons) {
    fs::copy_file(path_of(kind), folder.path() / ("torchlean_" + kind + ".so"));
  }
  const Finished finished = probe(
      {{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_BACKEND_PATH", folder.path().string()}});
  CHECK(finished.exit_code == 0);
  const json status = json::parse(finished.out);
  CHECK(status["serving"]["backend"] == "reference");
  for (const auto &[kind, reason] : reasons) {
    const json record = probe_of(status, "bad-" + kind);
    CAPTURE(record.dump());
    CHECK(contains(record["reason"], reason));
    CHECK((record["stage"] == "usable") == (kind == "good"));
    CHECK((record["status"] == "ok") == (kind == "good"));
  }
  CHECK(probe_of(status, "reference")["stage"] == "usable");
}

TEST_CASE("the one that was asked for is probed, too, and the command outlives it") {
  const std::string path = path_of("entry-aborts");
  const Finished finished = probe({{"TORCHLEAN_BACKEND", path + ",reference"}});
  CHECK(finished.exit_code == 1);
  const json status = json::parse(finished.out);
  CHECK(status["asked"] == path + ",reference");
  CHECK(contains(status["serving"]["reason"],
                 "the process that chose a backend was ended by signal 6"));
  CHECK(contains(probe_of(status, path)["reason"], "signal 6"));
}

TEST_CASE("what a backend prints does not spoil the report") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", path_of("prints")}});
  CHECK(json::parse(finished.out)["serving"]["backend"] == "bad-prints");
  CHECK(contains(finished.err, "create says hello"));
}

TEST_CASE("the text names each candidate that was opened in a process of its own") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", path_of("create-fails")}}, {});
  CHECK(finished.exit_code == 1);
  const std::size_t begin = finished.out.find("each opened in a process of its own");
  REQUIRE(begin != std::string::npos);
  const std::string probes = finished.out.substr(begin);
  CHECK(contains(probes, "no memory for a context"));
  CHECK(contains(probes, "reference       usable"));
}

TEST_CASE("without --probe nothing is started, and the limit needs it") {
  CHECK_FALSE(contains(run({TORCHLEAN, "status", "--json"}).out, "\"probes\""));
  CHECK(run({TORCHLEAN, "status", "--time-limit", "3"}).exit_code == 2);
}
