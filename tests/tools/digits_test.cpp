// The example learns, repeatably, and fails as programs should.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

using nlohmann::json;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

Finished digits(std::vector<std::string> arguments, const std::string &backend = "reference") {
  arguments.insert(arguments.begin(), DIGITS);
  return run(arguments, {{"TORCHLEAN_BACKEND", backend}}, "", 100);
}

}  // namespace

TEST_CASE("two runs on one backend reach 94 % with the same checksum") {
  const Finished first = digits({"--json"});
  const Finished second = digits({"--json"});
  CHECK(first.exit_code == 0);
  const json one = json::parse(first.out);
  CHECK(one["backend"] == "reference");
  CHECK(one["accuracy"] >= 0.94);
  CHECK(one["held_out"] == 359);
  CHECK(one["checksum"] == json::parse(second.out)["checksum"]);
  CHECK(first.err.empty());
}

TEST_CASE("another seed gives another checksum") {
  const auto checksum = [](const std::string &seed) {
    return json::parse(digits({"--json", "--epochs", "1", "--seed", seed}).out)["checksum"];
  };
  CHECK(checksum("1") != checksum("2"));
}

TEST_CASE("an accuracy below 94 % is exit code 1") {
  const Finished finished = digits({"--epochs", "1", "--batch", "1000"});
  CHECK(finished.exit_code == 1);
  CHECK(finished.err.find("expected at least 94 %") != std::string::npos);
}

TEST_CASE("it learns in float64") {
  CHECK(digits({"--dtype", "float64", "--epochs", "3"}).exit_code == 0);
}

TEST_CASE("without a backend it exits 1 with the reason") {
  const Finished finished = digits({}, "nonsense");
  CHECK(finished.exit_code == 1);
  CHECK(finished.err.find("nonsense") != std::string::npos);
}

TEST_CASE("a missing file and wrong options are named") {
  const Finished missing = digits({"--data", "/nowhere/digits.txt"});
  CHECK(missing.exit_code == 1);
  CHECK(missing.err.find("/nowhere/digits.txt") != std::string::npos);
  CHECK(digits({"--dtype", "float16"}).exit_code == 2);
}

TEST_CASE("the demo trains on what can and names what cannot") {
  const Finished finished = run({DEMO, TREE}, {{"TORCHLEAN_BACKEND", "reference"}}, "", 100);
  CHECK(finished.exit_code == 0);
  CHECK(finished.out.find("== reference") != std::string::npos);
  CHECK(finished.out.find("checksum") != std::string::npos);
}
