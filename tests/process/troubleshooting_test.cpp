// The messages that docs/troubleshooting.md quotes are those that are given.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "loader/library_version.hpp"
#include "loader/unwinder.hpp"
#include "selection/driver.hpp"
#include "support/folder.hpp"
#include "support/probe.hpp"

using torchlean_test::bytes_of;
using torchlean_test::Finished;
using torchlean_test::Folder;
using torchlean_test::run;
using torchlean_test::write;
namespace fs = std::filesystem;

namespace {

std::string bad(const std::string &kind) {
  return std::string(BAD_FOLDER) + "/torchlean_bad-" + kind + ".so";
}

// All that the probe prints with these variables.
std::string printed(const std::map<std::string, std::string> &environment,
                    const std::vector<std::string> &more = {}) {
  std::vector<std::string> command = {PROBE};
  command.insert(command.end(), more.begin(), more.end());
  const Finished finished = run(command, environment);
  return finished.out + finished.err;
}

std::string of_another_libtorch() {
  const Folder folder;
  fs::create_directory(folder.path() / "lib");
  write(folder.path() / "version.py", "__version__ = '1.2.3'\n");
  write(folder.path() / "lib/libtorch_cpu.so", "another one\n");
  torchlean::ElfFacts facts;
  facts.run_path = {(folder.path() / "lib").string()};
  facts.run_path_first = true;
  facts.note.emplace();
  facts.note->built_for = "LibTorch 2.15.0";
  facts.note->library = "libtorch_cpu.so";
  return torchlean::library_mismatch(facts);
}

std::string of_an_open_folder() {
  const Folder folder;
  chmod(folder.path().c_str(), 0777);
  return printed(
      {{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_BACKEND_PATH", folder.path().string()}});
}

std::string of_a_cut_file() {
  const Folder folder;
  write(folder.path() / "cut.so", bytes_of(bad("good")).substr(0, 3000));
  return printed({{"TORCHLEAN_BACKEND", (folder.path() / "cut.so").string()}});
}

std::string of_mixed_unwinders() {
  torchlean::UnwinderState state;
  state.mixed = state.libstdcxx_loaded = true;
  state.raise_exception_file = "libleanshared.so";
  return torchlean::binding_refusal(state);
}

// How each section's message is provoked.
const std::map<std::string, std::function<std::string()>> provocations = {
    {"A backend that is not there",
     [] {
       return printed({{"TORCHLEAN_BACKEND", "libtorhc"}});
     }},
    {"A library is missing",
     [] {
       return printed({{"TORCHLEAN_BACKEND", bad("missing-library")}});
     }},
    {"Another LibTorch than the backend was built for", of_another_libtorch},
    {"A symbol is missing",
     [] {
       return printed({{"TORCHLEAN_BACKEND", bad("missing-symbol")}});
     }},
    {"No NVIDIA driver",
     [] {
       return printed({{"TORCHLEAN_REQUIRE_CUDA", "1"}});
     }},
    {"A device that the backend does not have",
     [] {
       return printed({{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_DEVICE", "cuda:0"}});
     }},
    {"The wrong folder, or any value that is not allowed",
     [] {
       return printed({{"TORCHLEAN_BACKEND_PATH", "backends"}});
     }},
    {"A misspelt variable",
     [] {
       return printed({{"TORCHLEAN_BAKEND", "x"}, {"TORCHLEAN_BACKEND", "null"}});
     }},
    {"A folder that everybody may write to", of_an_open_folder},
    {"Core and backend of different versions",
     [] {
       return printed({{"TORCHLEAN_BACKEND", bad("note-other-abi")}});
     }},
    {"A file that was cut off", of_a_cut_file},
    {"Two unwinders in one process", of_mixed_unwinders},
    {"After fork",
     [] {
       return printed({{"TORCHLEAN_BACKEND", "reference"}}, {"fork"});
     }},
};

// The quoted message of each section.
std::map<std::string, std::string> quotations() {
  std::map<std::string, std::string> quoted;
  std::istringstream document(bytes_of(TROUBLESHOOTING));
  std::string section;
  bool is_inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.rfind("## ", 0) == 0) section = line.substr(3);
    if (line.rfind("```", 0) == 0) {
      is_inside = line == "```text";
    } else if (is_inside) {
      quoted[section] += (quoted[section].empty() ? "" : "\n") + line;
    }
  }
  return quoted;
}

// Does the text hold the message, in which … stands for anything?
bool holds(const std::string &text, const std::string &message) {
  const std::string gap = "…";
  std::size_t at = 0;
  for (std::size_t start = 0; start <= message.size();) {
    const std::size_t end = std::min(message.find(gap, start), message.size());
    const std::string piece = message.substr(start, end - start);
    const std::size_t found = text.find(piece, at);
    if (found == std::string::npos) return false;
    at = found + piece.size();
    start = end + gap.size();
  }
  return true;
}

}  // namespace

TEST_CASE("each quoted message is the one that is given") {
  const std::map<std::string, std::string> quoted = quotations();
  CHECK(quoted.size() == provocations.size());
  CHECK(quoted.size() >= 10);
  for (const auto &quotation : quoted) {
    const std::string &section = quotation.first;
    const std::string &message = quotation.second;
    CAPTURE(section);
    CAPTURE(message);
    REQUIRE(provocations.count(section) == 1);
    if (section == "No NVIDIA driver" && torchlean::has_nvidia_driver()) continue;
    const std::string text = provocations.at(section)();
    CAPTURE(text);
    CHECK(holds(text, message));
  }
}
