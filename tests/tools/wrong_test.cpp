// Rule T8: backends that are wrong on purpose are caught, and the operation is named.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <set>

#include "support/process.hpp"

using nlohmann::json;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

struct Kind {
  const char *name;       // WRONG_KIND of wrong/backend.c
  const char *operation;  // the one that is wrong
  std::vector<std::string> options;
  const char *reason;  // part of what the failure says
};

// docs/compare.md has the same table.
const std::vector<Kind> kinds = {
    {"swapped-arguments", "sub", {}, "the same bits expected"},
    {"last-row-missed", "bmm_with_transpose", {}, "budget"},
    {"one-element-off", "mul", {}, "1 ulp off"},
    {"one-ulp-too-many", "exp", {}, "error 3 ulp, budget 2 ulp"},
    {"write-past-the-end", "neg", {}, "outside the host memory"},
    {"write-before-the-start", "inv", {}, "outside the host memory"},
    {"nothing-written", "abs", {}, ""},
    {"no-result", "floor", {}, "ok without a result"},
    {"wrong-dtype", "div", {}, "width"},
    {"input-changed", "relu", {}, "changed its input 0"},
    {"refused", "cos", {}, "unsupported"},
    {"unknown-enumerator-taken", "max_bwd", {}, "answered \"ok\", expected \"unsupported\""},
    {"claims-too-little", "sub", {}, "supports() says no"},
    {"rounding-mode-left-upward", "floor", {}, "changed the thread's rounding mode"},
    {"tail-unlike-body", "exp", {}, "where its operands are element"},
    {"mixed-dtypes-taken", "mul", {}, "answered \"ok\", expected \"invalid argument\""},
    {"leak-in-a-refusal", "div", {}, "left memory allocated"},
    {"struct-size-ignored", "adam_step", {}, "answered \"ok\", expected \"invalid argument\""},
    {"crash-on-NULL", "adam_step", {}, "signal 6"},
    {"groups-masked-with-zeros", "conv", {}, "NaN not expected"},
    {"padding-counted", "maxpool_fwd", {}, "the same bits expected"},
    {"last-tie-wins", "maxpool_bwd", {}, "budget"},
    {"nondeterminism", "reduce_sum", {"--repeat", "2"}, "repetition 2"},
    {"bits-by-threads", "reduce_mean", {"--deterministic", "--threads", "1,2"}, "with 2 threads"},
    {"order-of-its-own", "reduce_sum", {"--deterministic"}, "the same bits expected"},
    {"just-over-the-budget", "softmax", {}, "5 ulp"},
    {"maximum-not-subtracted", "softmax", {}, "NaN not expected"},
    {"output-on-its-own", "layer_norm_fwd", {}, "1 ulp off"},
    {"one-bin-conjugated", "rfft1d_packed", {}, "norm of the error"},
    {"fused-scan", "selective_scan_diag_fwd", {}, "the same bits expected"},
    {"updates-out-of-order", "scatter_add_rows", {"--deterministic"}, "the same bits expected"},
    {"gradients-out-of-order", "selective_scan_diag_bwd", {"--deterministic"}, "1 ulp off"},
    {"crash", "tanh", {"--isolate"}, "signal 11"},
    {"write-far-away", "sqrt", {"--isolate"}, "signal 11"},
    {"abort", "log", {"--isolate"}, "signal 6"},
    {"exit", "log1p", {"--isolate"}, "exited with code 0"},
    {"hang", "sin", {"--isolate", "--time-limit", "1"}, "no sign of life for 1 s"},
};

// With a few operations beside those that are asked for.
Finished compare(const std::string &kind, std::vector<std::string> options,
                 std::string operations) {
  operations += ",copy,abs,exp,tanh,add,reduce_sum,gather_rows,softmax,maxpool_fwd";
  const std::vector<std::string> fixed = {TORCHLEAN, "compare", "--backends", WRONG,     "--json",
                                          "--size",  "small",   "--ops",      operations};
  options.insert(options.begin(), fixed.begin(), fixed.end());
  return run(options, {{"WRONG_KIND", kind}});
}

// That a kind spoils.
std::string every_operation() {
  std::string names;
  for (const Kind &kind : kinds) names += std::string(names.empty() ? "" : ",") + kind.operation;
  return names;
}

std::set<std::string> failed_operations(const json &report) {
  std::set<std::string> names;
  for (const json &row : report["operations"]) {
    if (!row["failure"].is_null()) names.insert(row["operation"]);
  }
  return names;
}

}  // namespace

TEST_CASE("T8: the wrong backend without a fault is right in every mode") {
  for (const std::vector<std::string> &options : std::vector<std::vector<std::string>>{
           {}, {"--isolate"}, {"--deterministic", "--threads", "1,2", "--repeat", "2"}}) {
    const Finished finished = compare("none", options, every_operation());
    CAPTURE(finished.out);
    CHECK(finished.exit_code == 0);
  }
}

TEST_CASE("T8: every kind of fault is caught and the right operation is named") {
  for (const Kind &kind : kinds) {
    CAPTURE(kind.name);
    const Finished finished = compare(kind.name, kind.options, kind.operation);
    CHECK(finished.exit_code == 1);
    const json report = json::parse(finished.out, nullptr, false);
    REQUIRE_FALSE(report.is_discarded());
    CHECK(failed_operations(report) == std::set<std::string>{kind.operation});
    for (const json &row : report["operations"]) {
      if (row["failure"].is_null()) continue;
      const std::string reason = row["failure"]["reason"];
      CAPTURE(reason);
      CHECK(reason.find(kind.reason) != std::string::npos);
      CHECK(row["failure"]["case"].get<std::string>().rfind(kind.operation, 0) == 0);
    }
  }
}

TEST_CASE("T8: after a crash the worker goes on with the next operation") {
  const json report = json::parse(compare("crash", {"--isolate"}, "tanh").out);
  const json right = json::parse(compare("none", {}, "tanh").out);
  CHECK(report["operations"].size() == right["operations"].size());
}

TEST_CASE(
    "T8: what shows only in repetitions, at other numbers of threads or in deterministic "
    "mode passes without") {
  for (const char *kind : {"nondeterminism", "bits-by-threads", "order-of-its-own",
                           "updates-out-of-order", "gradients-out-of-order"}) {
    CAPTURE(kind);
    CHECK(compare(kind, {}, every_operation()).exit_code == 0);
  }
}
