// The `torchlean` command seen from outside: exit codes (T1), what it prints, what it opens (L11).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "support/process.hpp"

using nlohmann::json;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

using Environment = std::map<std::string, std::string>;

Finished torchlean(std::vector<std::string> arguments, const Environment &environment = {}) {
  arguments.insert(arguments.begin(), TORCHLEAN);
  return run(arguments, environment);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The dynamic loader's own list of files opened.
bool opens_a_backend(const std::vector<std::string> &arguments) {
  return contains(torchlean(arguments, {{"LD_DEBUG", "files"}}).err, "torchlean_reference.so");
}

}  // namespace

TEST_CASE("L11: help, version and the tables of variables open no backend") {
  CHECK_FALSE(opens_a_backend({"--help"}));
  CHECK_FALSE(opens_a_backend({"--version"}));
  CHECK_FALSE(opens_a_backend({"compare", "--help"}));
  CHECK_FALSE(opens_a_backend({"env"}));
  CHECK(opens_a_backend({"ops", "--backends", "reference"}));
}

TEST_CASE("version prints the core's version") {
  const Finished finished = torchlean({"--version"});
  CHECK(finished.exit_code == 0);
  CHECK(finished.out.rfind("torchlean 0.", 0) == 0);
}

TEST_CASE("status exits 0 when a real backend serves and names it") {
  const Finished finished = torchlean({"status", "--json"}, {{"TORCHLEAN_BACKEND", "reference"}});
  CHECK(finished.exit_code == 0);
  const json status = json::parse(finished.out);
  CHECK(status["asked"] == "reference");
  CHECK(status["serving"]["backend"] == "reference");
  CHECK(status["state"] == "available");
  CHECK(status["device"]["memory"]["total_bytes"] > 0);
  CHECK(status["settings"]["deterministic"] == false);
  bool is_listed = false;
  for (const json &candidate : status["candidates"]) {
    is_listed = is_listed || (candidate["name"] == "reference" && candidate["stage"] == "usable" &&
                              candidate["is_serving"] == true);
  }
  CHECK(is_listed);
}

TEST_CASE("status exits 0 when null was asked for") {
  CHECK(torchlean({"status"}, {{"TORCHLEAN_BACKEND", "null"}}).exit_code == 0);
}

TEST_CASE("status exits 1 and says why when what was asked for cannot serve") {
  const Finished finished = torchlean({"status"}, {{"TORCHLEAN_BACKEND", "nonsense"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "nonsense"));
}

TEST_CASE("env prints every variable with its value and what is wrong with it") {
  const Finished finished =
      torchlean({"env", "--json"}, {{"TORCHLEAN_LOG", "off"}, {"TORCHLEAN_SYNCHRONOUS", "maybe"}});
  CHECK(finished.exit_code == 0);
  const json table = json::parse(finished.out);
  bool has_log = false;
  bool has_error = false;
  for (const json &variable : table["variables"]) {
    has_log = has_log || (variable["name"] == "TORCHLEAN_LOG" && variable["value"] == "off" &&
                          variable["is_set"] == true && variable["default"] == "warn");
    has_error = has_error || (variable["name"] == "TORCHLEAN_SYNCHRONOUS" &&
                              !variable["error"].get<std::string>().empty());
  }
  CHECK(has_log);
  CHECK(has_error);
}

TEST_CASE("ops tells dtypes per backend and marks what is compared") {
  const Finished finished = torchlean({"ops", "--json", "--backends", "reference"});
  CHECK(finished.exit_code == 0);
  const json ops = json::parse(finished.out);
  CHECK(ops["operations"].size() > 80);
  for (const json &operation : ops["operations"]) {
    if (operation["name"] == "add")
      CHECK(operation["dtypes"]["reference"] == json{"float32", "float64"});
    if (operation["name"] == "add") CHECK(operation["is_compared"] == true);
  }
}

TEST_CASE("ops --need says what a backend lacks") {
  const Finished all = torchlean({"ops", "--backends", "reference", "--need", "add,exp"});
  CHECK(all.exit_code == 0);
  CHECK(all.out == "reference has all\n");
  const Finished some = torchlean({"ops", "--backends", FEW, "--need", "add,softmax"});
  CHECK(some.exit_code == 1);
  CHECK(some.out == std::string(FEW) + " lacks softmax\n");
  CHECK(torchlean({"ops", "--need", "nonsense"}).exit_code == 2);
}

TEST_CASE("T1: compare exits 0 when everything agrees") {
  // The reference by name and the wrong backend on an operation that it has right.
  const Finished finished =
      torchlean({"compare", "--backends", std::string("reference,") + WRONG, "--ops", "add,exp"});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "all agree"));
  CHECK(contains(finished.out, "seed      1"));
  CHECK_FALSE(contains(finished.out, "not compared:"));
}

TEST_CASE("T1, T3: compare exits 1 on a disagreement, names it and prints how to replay it") {
  const Finished finished =
      torchlean({"compare", "--backends", WRONG, "--ops", "sub", "--size", "small", "--json"});
  CHECK(finished.exit_code == 1);
  const json report = json::parse(finished.out);
  CHECK(report["failed"] == true);
  CHECK(report["baseline"]["name"] == "reference");
  const json &failure = report["operations"][0]["failure"];
  CHECK(report["operations"][0]["operation"] == "sub");
  CHECK(failure["place"] != "");
  CHECK(contains(failure["expected"], "0x"));
  CHECK(failure["inputs"].size() == 2);

  // Pasting the case runs just that one, and it fails in the same place.
  const Finished replayed = torchlean(
      {"compare", "--backends", WRONG, "--ops", failure["case"], "--size", "small", "--json"});
  CHECK(replayed.exit_code == 1);
  const json again = json::parse(replayed.out);
  CHECK(again["cases"] == 1);
  CHECK(again["operations"][0]["failure"]["expected"] == failure["expected"]);
  CHECK(again["operations"][0]["failure"]["got"] == failure["got"]);
}

TEST_CASE("a failing case is made smaller, and the smaller one fails too") {
  const Finished finished =
      torchlean({"compare", "--backends", WRONG, "--ops", "sub[float32]", "--json"});
  const json failure = json::parse(finished.out)["operations"][0]["failure"];
  // Two elements that differ: one of them need not be 1.
  CHECK(failure["smallest"].get<std::string>().rfind("sub[float32, literal, in=3f800000, in=", 0) ==
        0);
  CHECK(contains(failure["replay_smallest"], failure["smallest"]));
  const Finished replayed =
      torchlean({"compare", "--backends", WRONG, "--ops", failure["smallest"], "--json"});
  CHECK(replayed.exit_code == 1);
  CHECK(json::parse(replayed.out)["operations"][0]["failure"]["case"] == failure["smallest"]);
}

TEST_CASE("--corpus keeps failures and runs them first") {
  const std::string file =
      doctest::getContextOptions()->binary_name.c_str() + std::string(".corpus");
  std::remove(file.c_str());
  CHECK(torchlean({"compare", "--backends", WRONG, "--ops", "sub[float32],mul", "--size", "small",
                   "--corpus", file})
            .exit_code == 1);
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  CHECK(line.rfind("sub[float32, literal", 0) == 0);
  CHECK_FALSE(std::getline(lines, line));

  const Finished again = torchlean({"compare", "--backends", WRONG, "--ops", "mul,sub[float32]",
                                    "--size", "small", "--corpus", file, "--json"});
  CHECK(again.exit_code == 1);
  const json operations = json::parse(again.out)["operations"];
  CHECK(operations[0]["operation"] == "sub");
  CHECK(operations[0]["cases"].get<int>() == operations[2]["cases"].get<int>() + 1);
  std::remove(file.c_str());
}

TEST_CASE("T10: a corpus of arbitrary bytes is a usage error that names file and line") {
  const std::string file =
      doctest::getContextOptions()->binary_name.c_str() + std::string(".bytes");
  for (const std::string &bytes :
       {std::string("\x7f\x45LF\0\1\2", 7), std::string("add[float32, literal, in=zz]"),
        std::string("add[float32, literal, in=3f800000*99999999999]"),
        std::string("nonsense[float32, literal]"), std::string("add[float32, *, n=1]"),
        std::string("add[float32, a, b] --seed x"), std::string(100000, '[')}) {
    std::ofstream(file, std::ios::binary) << "# first line\n" << bytes;
    const Finished finished = torchlean({"compare", "--backends", WRONG, "--corpus", file});
    CAPTURE(finished.err);
    CHECK(finished.exit_code == 2);
    CHECK(contains(finished.err, file + ": line 2: "));
    CHECK(finished.err.size() < 1000);
  }
  std::remove(file.c_str());
  CHECK(torchlean({"compare", "--backends", WRONG, "--corpus", "/"}).exit_code == 2);
}

TEST_CASE("T9: JUnit, JSON and console tell of the same failures") {
  const std::string file = doctest::getContextOptions()->binary_name.c_str() + std::string(".xml");
  const std::vector<std::string> arguments = {
      "compare", "--backends", WRONG, "--ops", "sub,add", "--size", "small", "--junit", file};
  const Finished console = torchlean(arguments);
  std::vector<std::string> as_json = arguments;
  as_json.emplace_back("--json");
  const json report = json::parse(torchlean(as_json).out);
  std::stringstream xml;
  xml << std::ifstream(file).rdbuf();
  CHECK(contains(xml.str(), "tests=\"4\" failures=\"2\""));
  CHECK(contains(xml.str(), "name=\"sub[float32]\""));
  CHECK(contains(xml.str(), "name=\"seed\" value=\"1\""));
  for (const json &row : report["operations"]) {
    if (row["failure"].is_null()) continue;
    const std::string name = row["failure"]["case"];
    CHECK(contains(console.out, "FAILED " + name));
    CHECK(contains(xml.str(), "case: " + name));
  }
  CHECK(report["seed"] == 1);
  CHECK(report["version"] != "");
  CHECK(report["backends"][0]["device"] != "");
  CHECK(report["operations"][0]["budget"] != "");
  std::remove(file.c_str());
}

TEST_CASE("T6: wrong arguments are cases of their own") {
  const Finished finished =
      torchlean({"compare", "--backends", WRONG, "--ops", "add[float32, wrong, *]", "--json"});
  CHECK(finished.exit_code == 0);
  const json row = json::parse(finished.out)["operations"][0];
  CHECK(row["refusals"] == row["cases"]);
  CHECK(row["refusals"] >= 8);
}

TEST_CASE("T6: what a backend must refuse itself is tried at its table, case by case") {
  const Finished finished =
      torchlean({"compare", "--backends", WRONG, "--ops", "max_bwd[float32, direct, *]", "--json"});
  CHECK(finished.exit_code == 0);
  const json row = json::parse(finished.out)["operations"][0];
  CHECK(row["refusals"] == row["cases"]);
  CHECK(row["refusals"] > 20);

  // One of them alone, replayed as a failure prints it.
  const Finished failing = run(
      {TORCHLEAN, "compare", "--backends", WRONG, "--ops", "max_bwd", "--size", "small", "--json"},
      {{"WRONG_KIND", "unknown-enumerator-taken"}});
  const json failure = json::parse(failing.out)["operations"][0]["failure"];
  CHECK(failure["case"] == "max_bwd[float32, direct, op-unknown]");
  const Finished replayed =
      run({TORCHLEAN, "compare", "--backends", WRONG, "--ops", failure["case"], "--json"},
          {{"WRONG_KIND", "unknown-enumerator-taken"}});
  CHECK(replayed.exit_code == 1);
  CHECK(json::parse(replayed.out)["cases"] == 1);
}

TEST_CASE("JSON says of each budget why it is that") {
  const Finished finished = torchlean(
      {"compare", "--backends", WRONG, "--ops", "conv_fwd,copy", "--size", "small", "--json"});
  const json record = json::parse(finished.out);
  for (const json &row : record.at("operations")) {
    CHECK(row["budget"] != "");
    CHECK(row["why"] != "");
  }
}

TEST_CASE("--isolate gives the same record as one process") {
  const auto records = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "compare", "--backends", WRONG, "--ops", "sub,exp,reduce_sum", "--size", "small", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    json operations = json::parse(torchlean(arguments).out)["operations"];
    // How far a case shrinks is a matter of time.
    for (json &row : operations) {
      if (!row["failure"].is_null()) row["failure"].erase("smallest");
      if (!row["failure"].is_null()) row["failure"].erase("replay_smallest");
    }
    return operations;
  };
  CHECK(records({}) == records({"--isolate"}));
}

TEST_CASE("T1: compare exits 2 on wrong usage") {
  CHECK(torchlean({}).exit_code == 2);
  CHECK(torchlean({"nonsense"}).exit_code == 2);
  CHECK(torchlean({"compare", "--dtype", "float16"}).exit_code == 2);
  CHECK(torchlean({"compare", "--size", "huge"}).exit_code == 2);
  CHECK(torchlean({"compare", "--seed", "x"}).exit_code == 2);
  CHECK(torchlean({"compare", "--repeat", "0"}).exit_code == 2);
  CHECK(torchlean({"compare", "--threads", "1,x"}).exit_code == 2);
  CHECK(torchlean({"compare", "--time-limit", "5"}).exit_code == 2);  // needs --isolate
  CHECK(torchlean({"compare", "--ops", "add[float32"}).exit_code == 2);
  CHECK(torchlean({"compare", "--ops", "add[float32, literal, in=xyz]"}).exit_code == 2);
  CHECK(torchlean({"compare", "--junit", "/nowhere/at/all.xml"}).exit_code == 2);
}

TEST_CASE("T1: compare exits 3 when nothing was compared") {
  CHECK(torchlean({"compare", "--backends", "reference"}).exit_code == 3);
  CHECK(torchlean({"compare", "--backends", WRONG, "--ops", "nonsense"}).exit_code == 3);
  CHECK(torchlean({"compare", "--backends", WRONG, "--ops", "add[float32, none, n=1]"}).exit_code ==
        3);
}

TEST_CASE("T1: compare exits 4 when a requested backend is unavailable") {
  const Finished finished = torchlean({"compare", "--backends", "reference,nonsense"});
  CHECK(finished.exit_code == 4);
  CHECK(contains(finished.err, "nonsense"));
  CHECK(torchlean({"compare", "--backends", "reference,nonsense", "--isolate"}).exit_code == 4);
  CHECK(torchlean({"ops", "--backends", "nonsense"}).exit_code == 4);
}

TEST_CASE("T4: the seed reproduces a comparison; another seed changes the inputs") {
  const auto failure = [](const std::string &seed) {
    const Finished finished = torchlean({"compare", "--backends", WRONG, "--ops",
                                         "sub[float32, ordinary, *]", "--seed", seed, "--json"});
    return json::parse(finished.out)["operations"][0]["failure"]["inputs"].dump();
  };
  CHECK(failure("7") == failure("7"));
  CHECK(failure("7") != failure("8"));
}

TEST_CASE("nothing is coloured and no progress is shown in a pipe") {
  // Named, so that the core does not warn of a slow automatic choice.
  const Finished finished = torchlean({"compare", "--backends", WRONG, "--ops", "sub"},
                                      {{"TORCHLEAN_BACKEND", "reference"}});
  CHECK_FALSE(contains(finished.out, "\033"));
  CHECK(finished.err.empty());
  const Finished isolated =
      torchlean({"compare", "--backends", WRONG, "--ops", "sub", "--isolate"});
  CHECK_FALSE(contains(isolated.out, "\033"));
  CHECK(isolated.err.empty());
}
