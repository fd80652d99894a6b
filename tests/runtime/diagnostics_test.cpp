// What explains a running program: the timeline, ranges for profilers, the report of live buffers.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/folder.hpp"
#include "support/probe.hpp"

using nlohmann::json;
using torchlean_test::attempts_of;
using torchlean_test::bytes_of;
using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::Folder;
using torchlean_test::run;
using torchlean_test::write;
namespace fs = std::filesystem;

namespace {

using Environment = std::map<std::string, std::string>;

Finished probe(Environment environment, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), PROBE);
  environment.emplace("TORCHLEAN_BACKEND", "reference");
  environment.emplace("ASAN_OPTIONS", "detect_leaks=0");  // some end while they compute
  return run(arguments, environment);
}

// The events for calls; the file must be an array of events at any time.
std::vector<json> calls_in(const fs::path &file) {
  std::vector<json> calls;
  const json events = json::parse(bytes_of(file), nullptr, false);
  REQUIRE(events.is_array());
  for (const json &event : events) {
    if (event.at("ph") == "X") calls.push_back(event);
  }
  return calls;
}

// The last call of that name: the probe's own, not the self-test's.
json call_of(const std::vector<json> &calls, const std::string &name) {
  json found;
  for (const json &call : calls) {
    if (call.at("name") == name) found = call;
  }
  REQUIRE_FALSE(found.is_null());
  return found;
}

}  // namespace

TEST_CASE("the timeline has an event for each call: operation, sizes, bytes, thread, time") {
  const Folder folder;
  const fs::path file = folder.path() / "timeline.json";
  const Finished finished = probe({{"TORCHLEAN_TIMELINE", file.string()}});
  CHECK(contains(finished.out, "sum 3 4\n"));
  CHECK(finished.err.empty());
  const std::vector<json> calls = calls_in(file);
  const json add = call_of(calls, "add");
  CHECK(add.at("cat") == "elementwise.binary");
  CHECK(add.at("args") == json{{"arguments", "0 f32[2] f32[2] 0"},
                               {"bytes_read", 16},
                               {"bytes_made", 8},
                               {"status", "ok"}});
  CHECK(add.at("tid") == add.at("pid"));  // the main thread
  CHECK(add.at("dur").get<double>() > 0);
  const json download = call_of(calls, "download");
  CHECK(download.at("args").at("bytes_read") == 8);
  CHECK(download.at("args").at("bytes_made") == 0);
  CHECK(download.at("ts").get<double>() >=
        add.at("ts").get<double>() + add.at("dur").get<double>());
  // The first operation starts the runtime; the self-test is not part of it.
  probe({{"TORCHLEAN_TIMELINE", file.string()}}, {"exhaust"});
  std::multiset<std::string> names;
  for (const json &call : calls_in(file)) names.insert(call.at("name").get<std::string>());
  CHECK(names.count("zeros") == 1);
  CHECK(names.count("binary") == 1);  // the self-test's
  CHECK(names.count("concat1d") == 2);
  CHECK(names.count("release") >= 3);
}

TEST_CASE("the timeline is complete however the process ends") {
  const Folder folder;
  for (const std::string way : {"exit", "quick_exit", "signal"}) {
    CAPTURE(way);
    const fs::path file = folder.path() / way;
    probe({{"TORCHLEAN_TIMELINE", file.string()}}, {"end", way});
    const std::vector<json> calls = calls_in(file);
    CHECK_FALSE(calls.empty());
    CHECK(calls.back().at("args").at("status") == "ok");
  }
}

TEST_CASE("the timeline of a process that was forked keeps to the parent") {
  const Folder folder;
  const fs::path file = folder.path() / "timeline.json";
  CHECK(probe({{"TORCHLEAN_TIMELINE", file.string()}}, {"fork"}).exit_code == 7);
  std::set<int> processes;
  for (const json &call : calls_in(file)) processes.insert(call.at("pid").get<int>());
  CHECK(processes.size() == 1);
}

TEST_CASE("%p in the timeline's name is the process's number, and a longer file is replaced") {
  const Folder folder;
  for (int round = 0; round < 2; ++round) {
    probe({{"TORCHLEAN_TIMELINE", (folder.path() / "of-%p.json").string()}});
  }
  std::set<std::string> files;
  for (const auto &entry : fs::directory_iterator(folder.path())) {
    files.insert(entry.path().filename());
    calls_in(entry.path());
  }
  CHECK(files.size() == 2);
  CHECK(files.count("of-%p.json") == 0);
  const fs::path file = folder.path() / "old";
  write(file, std::string(1 << 20, 'x'));
  probe({{"TORCHLEAN_TIMELINE", file.string()}});
  CHECK_FALSE(calls_in(file).empty());
}

TEST_CASE("a timeline that cannot be written is named, and the program computes") {
  const Folder folder;
  const std::string held = folder.path() / "held";  // as by another process that writes it
  const int descriptor = open(held.c_str(), O_CREAT | O_RDWR, 0600);
  REQUIRE(flock(descriptor, LOCK_EX) == 0);
  for (const std::string &path : {std::string("/nonexistent/timeline.json"), held}) {
    const Finished finished = probe({{"TORCHLEAN_TIMELINE", path}});
    CAPTURE(finished.err);
    CHECK(contains(finished.out, "sum 3 4\n"));
    CHECK(contains(finished.err, "TORCHLEAN_TIMELINE: " + path + " cannot be opened: "));
    CHECK(finished.err.find("TORCHLEAN_TIMELINE") == finished.err.rfind("TORCHLEAN_TIMELINE"));
  }
  close(descriptor);
}

TEST_CASE("a timeline that finds no more space stays complete, and the program computes") {
  const Folder folder;
  const fs::path file = folder.path() / "timeline.json";
  const Finished finished =
      run({"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 4; exec \"$0\" exhaust", PROBE},
          {{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_TIMELINE", file.string()}});
  CHECK(finished.out == "out of memory\nout of memory\n");
  CHECK(finished.err == "torchlean: warning: TORCHLEAN_TIMELINE: " + file.string() +
                            " cannot be written on: File too large\n");
  CHECK_FALSE(calls_in(file).empty());
}

TEST_CASE("the layer nvtx marks each call as a range that ends") {
  const Folder folder;
  fs::copy_file(FAKE_NVTX, folder.path() / "libnvToolsExt.so.1");
  const Finished finished =
      probe({{"TORCHLEAN_LAYERS", "nvtx"}, {"LD_LIBRARY_PATH", folder.path().string()}});
  CHECK(contains(finished.out, "sum 3 4\n"));
  CHECK(contains(finished.err, "range upload\nend\nrange add\nend\nrange download\nend\n"));
  CHECK(contains(finished.err, "range release\nend\n"));
  CHECK(attempts_of(finished, "layer nvtx").empty());
}

TEST_CASE("the status says where there is no library for the layer nvtx") {
  // One that lacks a function, and a file that is no library.
  const Folder folder;
  fs::copy_file(HALF_NVTX, folder.path() / "libnvToolsExt.so.1");
  write(folder.path() / "libnvtx3interop.so.1", "not a library\n");
  const Finished finished =
      probe({{"TORCHLEAN_LAYERS", "nvtx"}, {"LD_LIBRARY_PATH", folder.path().string()}});
  CHECK(contains(finished.out, "sum 3 4\n"));
  CHECK(finished.err.empty());
  const std::vector<std::string> lines = attempts_of(finished, "layer nvtx");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "no range is marked: it lacks nvtxRangePushA"));
  CHECK(contains(lines[0], "libnvtx3interop.so.1: "));
}

TEST_CASE("TORCHLEAN_MEMORY_REPORT lists live buffers by their operation when memory runs out") {
  const std::string first =
      "torchlean: warning: memory ran out in concat1d, whose results need 2.000 MiB; 3 live "
      "buffers "
      "hold 4.000 MiB:\n"
      "torchlean: warning:   2.000 MiB in 1 made by full\n"
      "torchlean: warning:   1.000 MiB in 1 made by zeros\n"
      "torchlean: warning:   1.000 MiB in 1 made by neg\n";
  const std::string second =  // the largest one is released
      "torchlean: warning: memory ran out in concat1d, whose results need 2.000 MiB; 2 live "
      "buffers "
      "hold 2.000 MiB:\n"
      "torchlean: warning:   1.000 MiB in 1 made by zeros\n"
      "torchlean: warning:   1.000 MiB in 1 made by neg\n";
  const Finished reported = probe({{"TORCHLEAN_MEMORY_REPORT", "1"}}, {"exhaust"});
  CHECK(reported.out == "out of memory\nout of memory\n");
  CHECK(reported.err == first + second);
  const Finished silent = probe({}, {"exhaust"});
  CHECK(silent.out == reported.out);
  CHECK(silent.err.empty());
}
