// `torchlean bench` seen from outside: rows, figures, exit codes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>
#include <sstream>
#include <string>

#include "support/process.hpp"

using nlohmann::json;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

using Environment = std::map<std::string, std::string>;

const std::string reference_and_wrong = std::string("reference,") + WRONG;

Finished bench(std::vector<std::string> arguments, const Environment &environment = {}) {
  arguments.insert(arguments.begin(), {TORCHLEAN, "bench", "--time", "0.001"});
  return run(arguments, environment);
}

// On one thread, of few elements.
json record(const std::string &backends, const std::string &operations,
            const Environment &environment = {}, int exit_code = 0) {
  const Finished finished = bench(
      {"--backends", backends, "--ops", operations, "--size", "1000", "--threads", "1", "--json"},
      environment);
  CAPTURE(finished.err);
  CHECK(finished.exit_code == exit_code);
  return json::parse(finished.out);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

struct Row {
  const char *operation;
  const char *dtypes;
};
constexpr Row table[] = {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  {#name, #dtypes},
#include <torchlean/operations.def>
#undef TL_OPERATION
};

}  // namespace

TEST_CASE("bench has rows of each size for every native operation and dtype") {
  const Finished finished = bench({"--list"});
  CHECK(finished.exit_code == 0);
  std::set<std::string> rows;  // "add[float32, small"
  std::istringstream lines(finished.out);
  for (std::string line; std::getline(lines, line);) {
    rows.insert(line.substr(0, line.find(',', line.find(',') + 1)));
  }
  std::size_t operations = 0;
  for (const Row &row : table) {
    const std::string dtypes = row.dtypes;
    if (dtypes == "encoded") continue;
    ++operations;
    for (const std::string size : {"small", "medium", "large"}) {
      const std::string operation = row.operation;
      CAPTURE(operation);
      CAPTURE(size);
      const auto count = [&](const char *dtype) {
        std::string start = operation;
        return rows.count(start.append("[").append(dtype).append(", ").append(size));
      };
      CHECK(count("float64") == 1);
      CHECK(count("float32") == (dtypes == "float64" ? 0 : 1));
    }
  }
  CHECK(operations > 80);
}

TEST_CASE("every row of bench is a call that the operation takes") {
  const Finished finished =
      bench({"--backends", "reference", "--size", "5", "--threads", "1", "--json"});
  CAPTURE(finished.err);
  CHECK(finished.exit_code == 0);
  const json rows = json::parse(finished.out)["rows"];
  CHECK(rows.size() > 180);
  for (const json &row : rows) {
    CAPTURE(row["name"].get<std::string>());
    CHECK(row["results"][0]["error"] == "");
  }
}

TEST_CASE("bench prints a row's name so that it can be pasted as a selector") {
  const std::string name = "softmax[float64, medium, 256x256:axis=0]";
  const Finished finished = bench({"--list", "--ops", name + ",add[float32, large, *]"});
  CHECK(finished.out == "add[float32, large, n=10000000]\n" + name + "\n");
}

TEST_CASE("the JSON of bench is complete and its figures follow from each other") {
  const json report = record(reference_and_wrong, "add[float32],bmm_with_transpose[float64]");
  for (const char *text : {"processor", "system"}) CHECK(report["machine"][text] != "");
  CHECK(report["machine"]["processors"] > 0);
  CHECK(report["version"] != "");
  CHECK(report["date"] != "");
  CHECK(report["threads"] == 1);
  CHECK(report["clock"] == "processor");
  CHECK(report["copy_bytes_per_second"]["plain"] > 0);
  CHECK(report["call_seconds"] > 0);
  CHECK(report["failed"] == false);
  CHECK(report["interrupted"] == false);
  CHECK(report["backends"].size() == 2);
  CHECK(report["backends"][0]["name"] == "reference");
  CHECK(report["backends"][0]["version"] != "");
  REQUIRE(report["rows"].size() == 4);  // one sum, three ways of storing the factors
  const json &sum = report["rows"][0];
  CHECK(sum["name"] == "add[float32, 1000, n=1000]");
  CHECK(sum["family"] == "elementwise");
  CHECK(sum["bytes"] == 3 * 1000 * 4);
  CHECK(sum["flops"] == 0);
  const json &product = report["rows"][1];
  CHECK(product["shape"] == "1x31x31x31:NN");
  CHECK(product["bytes"] == 3 * 31 * 31 * 8);
  CHECK(product["flops"] == 2 * 31 * 31 * 31);
  for (const json &row : report["rows"]) {
    const double first = row["results"][0]["seconds"];
    for (const json &result : row["results"]) {
      const double seconds = result["seconds"];
      CHECK(seconds > 0);
      CHECK(result["processor_seconds"]["median"] == seconds);
      CHECK(result["processor_seconds"]["fastest"] <= seconds);
      CHECK(result["wall_seconds"]["median"] > 0);
      CHECK(result["spread"] >= 0);
      CHECK(result["turns"] >= 1);
      CHECK(result["calls_per_turn"] >= 1);
      CHECK(result["agrees"] == true);
      CHECK(result["ratio"] == doctest::Approx(first / seconds));
      CHECK(result["ratio_of_fastest"] > 0);
      const double bytes = row["bytes"];
      CHECK(result["bytes_per_second"] == doctest::Approx(bytes / seconds));
      const double copied = std::max(report["copy_bytes_per_second"]["plain"].get<double>(),
                                     report["copy_bytes_per_second"]["nontemporal"].get<double>());
      CHECK(result["share_of_copy"] == doctest::Approx(bytes / seconds / copied));
    }
  }
  // The mean over all rows of the second backend comes last.
  double logarithms = 0;
  for (const json &row : report["rows"]) {
    logarithms += std::log(row["results"][1]["ratio"].get<double>());
  }
  const json &mean = report["means"].back();
  CHECK(mean["family"] == "all");
  CHECK(mean["rows"] == 4);
  CHECK(mean["ratio"] == doctest::Approx(std::exp(logarithms / 4)));
}

TEST_CASE("a slow backend shows as slow, in its slow operation") {
  const json report =
      record(reference_and_wrong, "neg[float32]", {{"WRONG_KIND", "slow"}});  // 2 ms a call
  const json &results = report["rows"][0]["results"];
  CHECK(results[1]["seconds"] > 1e-3);
  CHECK(results[1]["ratio"] < 0.5);  // far from 1, however busy the machine is
}

TEST_CASE("what a backend lacks is named in the row and below the table") {
  const json report = record(std::string("reference,") + FEW, "softmax[float32]");
  for (const json &row : report["rows"]) {
    CHECK(row["results"][0]["skipped"] == "");
    CHECK(row["results"][1]["skipped"] == "not supported");
  }
  const Finished finished = bench({"--backends", std::string("reference,") + FEW, "--ops",
                                   "softmax[float32]", "--size", "1000"});
  CHECK(contains(finished.out, "skipped: not supported"));
  CHECK(contains(finished.out, "lacks softmax[float32]"));
}

TEST_CASE("a result that differs or a call that fails is told, and exit code 1") {
  const json differing =
      record(reference_and_wrong, "sub[float32]", {{"WRONG_KIND", "swapped-arguments"}}, 1);
  CHECK(differing["failed"] == true);
  CHECK(differing["rows"][0]["results"][1]["agrees"] == false);
  const json failing = record(reference_and_wrong, "cos[float32]", {{"WRONG_KIND", "refused"}}, 1);
  CHECK(contains(failing["rows"][0]["results"][1]["error"], "cos"));
  CHECK(failing["rows"][0]["results"][0]["seconds"] > 0);
}

TEST_CASE("the table of bench tells of the machine and has no colours in a pipe") {
  const Finished finished =
      bench({"--backends", reference_and_wrong, "--ops", "add", "--size", "1000", "--threads", "1"},
            {{"TORCHLEAN_BACKEND", "reference"}});
  CHECK(finished.exit_code == 0);
  for (const std::string part :
       {"machine ", "system ", "first ", "against ", "1; times are processor time", "copy ",
        "calling ", "TORCHLEAN_BACKEND=reference", "geometric means", "n=1000",
        "2 rows, 4 measurements"}) {
    CAPTURE(part);
    CHECK(contains(finished.out, part));
  }
  CHECK_FALSE(contains(finished.out, "\033"));
  CHECK(finished.err.empty());
}

TEST_CASE("an interrupted bench prints what it has and exits as shells say it") {
  // On a busy machine a program under a sanitizer takes more than a second to be ready for it.
  // --foreground: else `timeout` sends the signal twice, and the second one ends the program.
  Finished finished;
  for (const char *delay : {"1.5", "6", "20"}) {
    finished = run({"/usr/bin/timeout", "--foreground", "--preserve-status", "--signal", "INT",
                    delay, TORCHLEAN, "bench", "--backends", "reference", "--size", "small",
                    "--time", "0.2", "--json"});
    if (!finished.out.empty()) break;
  }
  CHECK(finished.exit_code == 130);
  const json report = json::parse(finished.out);
  CHECK(report["interrupted"] == true);
  CHECK(report["rows"].size() < 100);
}

TEST_CASE("T1: bench exits 2 on wrong usage, 3 when nothing was measured, 4 without a backend") {
  for (const std::vector<std::string> &arguments :
       std::vector<std::vector<std::string>>{{"--size", "huge"},
                                             {"--size", "0"},
                                             {"--dtype", "encoded"},
                                             {"--ops", "add[float32"},
                                             {"--ops", "add[float32, literal, in=0, in=0]"},
                                             {"--threads", "0"},
                                             {"--time", "0"},
                                             {"--list", "--json"}}) {
    CAPTURE(arguments[1]);
    CHECK(run({TORCHLEAN, "bench", arguments[0], arguments[1]}).exit_code == 2);
  }
  CHECK(bench({"--list", "--ops", "nonsense"}).exit_code == 3);
  CHECK(bench({"--backends", "reference", "--ops", "nonsense"}).exit_code == 3);
  CHECK(bench({"--backends", FEW, "--ops", "softmax", "--size", "8"}).exit_code == 3);
  const Finished finished = bench({"--backends", "reference,nonsense", "--ops", "add"});
  CHECK(finished.exit_code == 4);
  CHECK(contains(finished.err, "nonsense"));
}
