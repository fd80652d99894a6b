// Choosing a backend by environment variables, seen from a program (rules L1 to L7, L12, P5).
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>

#include "support/folder.hpp"
#include "support/probe.hpp"

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

Finished probe(const Environment &environment, const std::string &argument = "",
               const std::string &folder = "") {
  std::vector<std::string> command = {PROBE};
  if (!argument.empty()) command.push_back(argument);
  return run(command, environment, folder);
}

}  // namespace

TEST_CASE("a backend asked for by name serves") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "reference"}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "state 1\nbackend reference\n"));
  CHECK(contains(finished.out, "sum 3 4\n"));
  CHECK(finished.err.empty());
}

TEST_CASE("a backend asked for by path serves") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", REFERENCE}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "backend reference\n"));
}

TEST_CASE("null serves when asked for, and fails every operation with the reason") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "null"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "state 0\nbackend null\n"));
  CHECK(contains(finished.out, "error unavailable: upload: the null backend was asked for"));
}

TEST_CASE("L4: an unknown name is an error in the status and in every operation") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "nonsense"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "state 0\nbackend null\n"));
  CHECK(contains(finished.out,
                 "error unavailable: upload: no backend serves (TORCHLEAN_BACKEND="
                 "nonsense)"));
  CHECK(contains(finished.out, "known here:"));
  CHECK(attempts_of(finished, "nonsense").size() == 1);
}

TEST_CASE("L1: a path that does not exist is named with the reason") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "/nonexistent/backend.so"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "/nonexistent/backend.so"));
  CHECK(contains(finished.out, "No such file or directory"));
}

TEST_CASE("a relative path is refused, since the working directory must not matter") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "lib/x.so"}});
  CHECK(contains(finished.out, "a path must be absolute"));
}

TEST_CASE("L7: in a list the first usable entry serves, and the skipped ones say why") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "nonsense,/nonexistent.so,reference"}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "backend reference\n"));
  CHECK(contains(attempts_of(finished, "nonsense").at(0), "no backend of this name"));
  CHECK(finished.err.empty());
}

TEST_CASE("auto finds a host backend without a warning where no driver is") {
  const Finished finished = probe({{"TORCHLEAN_LOG", "error"}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "reason first usable one of the automatic order"));
}

TEST_CASE("L6: what is not tried is not opened") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "reference"}}, "maps");
  CHECK(contains(finished.out, std::string("mapped ") + REFERENCE));
  CHECK_FALSE(contains(finished.out, "torchlean_libtorch.so\n"));
  CHECK_FALSE(contains(finished.out, "libtorch_cpu"));
  CHECK_FALSE(contains(finished.out, "libcuda"));
}

TEST_CASE("L6: automatic choice without a driver opens no CUDA library") {
  const Finished finished = probe({}, "maps");
  CHECK_FALSE(contains(finished.out, "libtorch_cuda"));
  CHECK_FALSE(contains(finished.out, "torchlean_cuda-native.so\n"));
  CHECK_FALSE(contains(finished.out, "libcuda.so"));
}

TEST_CASE("L6: opening a backend by name opens no other") {
  const Finished finished = run({PROBE, "open", REFERENCE});
  CHECK(finished.exit_code == 0);
  CHECK(finished.err.empty());
  CHECK(contains(finished.out, "sum 3 4\n"));
  CHECK_FALSE(contains(finished.out, "torchlean_libtorch.so"));
  CHECK(finished.out.find("attempt ") == finished.out.rfind("attempt "));
}

TEST_CASE("L10: a bad value stops opening by name, too") {
  const Finished finished = run({PROBE, "open", REFERENCE}, {{"TORCHLEAN_DEVICE", "gpu"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "TORCHLEAN_DEVICE: 'gpu' is not allowed"));
}

TEST_CASE("L2: the choice is the same from any working directory") {
  const Finished here = probe({{"TORCHLEAN_BACKEND", "reference"}});
  const Finished there = probe({{"TORCHLEAN_BACKEND", "reference"}}, "", "/");
  CHECK(here.out == there.out);
}

TEST_CASE("L2: a moved tree finds its own backends") {
  const Folder folder;
  fs::create_directories(folder.path() / "lib/torchlean/backends");
  fs::create_directories(folder.path() / "bin");
  fs::copy_file(CORE, folder.path() / "lib" / fs::path(CORE_SONAME));
  fs::copy_file(REFERENCE, folder.path() / "lib/torchlean/backends/torchlean_reference.so");
  const Finished finished = run({PROBE}, {{"TORCHLEAN_BACKEND", "reference"},
                                          {"LD_LIBRARY_PATH", (folder.path() / "lib").string()}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, folder.path().string() + "/lib/torchlean/backends/"));
}

TEST_CASE("L3: files that are no backends are recorded and never executed") {
  const Folder folder;
  write(folder.path() / "text.so", "not a library\n");
  write(folder.path() / "empty.so", "");
  fs::copy_file(CORE, folder.path() / "library.so");
  // Within its code; what comes after it (debug information) may be missing.
  write(folder.path() / "torchlean_truncated.so", bytes_of(REFERENCE).substr(0, 1U << 16U));
  const Finished finished = probe(
      {{"TORCHLEAN_BACKEND_PATH", folder.path().string()}, {"TORCHLEAN_BACKEND", "reference"}},
      "maps");
  CHECK(finished.exit_code == 0);
  CHECK(finished.err.empty());
  CHECK(contains(attempts_of(finished, "text").at(0), "not an ELF file"));
  CHECK(contains(attempts_of(finished, "truncated").at(0), "truncated"));
  CHECK(
      contains(attempts_of(finished, "library").at(0), "does not export torchlean_backend_entry"));
  CHECK_FALSE(contains(finished.out, "mapped " + folder.path().string()));
  const Finished debug = probe({{"TORCHLEAN_BACKEND_PATH", folder.path().string()},
                                {"TORCHLEAN_BACKEND", "reference"},
                                {"TORCHLEAN_LOG", "debug"}});
  CHECK(contains(debug.err, "text.so: not an ELF file"));
}

TEST_CASE("L5: a duplicate is listed as shadowed, and the first one serves") {
  const Folder folder;
  fs::copy_file(REFERENCE, folder.path() / "torchlean_reference.so");
  const Finished finished = probe(
      {{"TORCHLEAN_BACKEND_PATH", folder.path().string()}, {"TORCHLEAN_BACKEND", "reference"}});
  const std::vector<std::string> lines = attempts_of(finished, "reference");
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], folder.path().string()));
  CHECK(contains(lines[0], "|usable|ok|1|"));
  CHECK(contains(lines[1], "shadowed by " + folder.path().string()));
}

TEST_CASE("a world-writable folder is refused with a word about it") {
  const Folder folder;
  fs::copy_file(REFERENCE, folder.path() / "torchlean_other.so");
  chmod(folder.path().c_str(), 0777);
  const Finished finished = probe(
      {{"TORCHLEAN_BACKEND_PATH", folder.path().string()}, {"TORCHLEAN_BACKEND", "reference"}});
  CHECK(contains(finished.err, "is not searched: everybody may write there"));
  CHECK(attempts_of(finished, "reference").size() == 1);
}

TEST_CASE("a bad value stops the choice and is named") {
  const Finished finished =
      probe({{"TORCHLEAN_NUM_THREADS", "many"}, {"TORCHLEAN_BACKEND", "reference"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "TORCHLEAN_NUM_THREADS: 'many' is not allowed"));
}

TEST_CASE("L10: a misspelt variable is reported once") {
  const Finished finished =
      probe({{"TORCHLEAN_BAKEND", "reference"}, {"TORCHLEAN_BACKEND", "reference"}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.err, "TORCHLEAN_BAKEND is not known"));
  CHECK(finished.err.find("BAKEND") == finished.err.rfind("BAKEND"));
}

TEST_CASE("TORCHLEAN_REQUIRE_CUDA forbids the host, with the reason") {
  const Finished finished = probe({{"TORCHLEAN_REQUIRE_CUDA", "1"}});
  if (contains(finished.out, "state 1")) return;  // this machine has a GPU
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "TORCHLEAN_REQUIRE_CUDA=1"));
}

TEST_CASE("a device that a backend does not have is refused by it") {
  const Finished finished =
      probe({{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_DEVICE", "cuda:0"}});
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "cuda:0"));
}

TEST_CASE("a test-only backend serves when asked for by path, never automatically") {
  const Finished asked = probe({{"TORCHLEAN_BACKEND", NOTHING}});
  CHECK(contains(asked.out, "backend nothing\n"));
  const Finished automatic =
      probe({{"TORCHLEAN_BACKEND_PATH", fs::path(NOTHING).parent_path().string()},
             {"TORCHLEAN_LOG", "error"}});
  CHECK_FALSE(contains(automatic.out, "backend nothing\n"));
}

TEST_CASE("the trace layer logs each call, at its level only") {
  const Finished silent =
      probe({{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_LAYERS", "trace"}});
  CHECK(silent.exit_code == 0);
  CHECK(silent.err.empty());
  const Finished traced = probe({{"TORCHLEAN_BACKEND", "reference"},
                                 {"TORCHLEAN_LAYERS", "trace"},
                                 {"TORCHLEAN_LOG", "info"}});
  CHECK(traced.out.find("sum 3 4\n") != std::string::npos);
  CHECK(contains(traced.err, "trace: elementwise.binary 0 f32[2] f32[2]"));
  CHECK(contains(traced.err, "trace: memory.release"));
}

TEST_CASE("TORCHLEAN_SYNCHRONOUS changes no result") {
  const Finished finished =
      probe({{"TORCHLEAN_BACKEND", "reference"}, {"TORCHLEAN_SYNCHRONOUS", "1"}});
  CHECK(contains(finished.out, "sum 3 4\n"));
}

#ifdef WITH_LIBTORCH
TEST_CASE("libtorch serves by name, on the host") {
  const Finished finished = probe({{"TORCHLEAN_BACKEND", "libtorch"}, {"TORCHLEAN_DEVICE", "cpu"}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "backend libtorch\n"));
  CHECK(contains(finished.out, "sum 3 4\n"));
}

TEST_CASE("another LibTorch than at build time is named before any of its code runs") {
  // The same file in a folder where its libtorch_cpu.so is found first and states another version.
  const Folder folder;
  fs::create_directories(folder.path() / "lib");
  write(folder.path() / "version.py", "__version__ = '1.2.3'\n");
  write(folder.path() / "lib/libtorch_cpu.so", "not the library that it was built for\n");
  fs::copy_file(LIBTORCH, folder.path() / "lib/torchlean_libtorch.so");
  const Finished finished =
      probe({{"TORCHLEAN_BACKEND", (folder.path() / "lib/torchlean_libtorch.so").string()},
             {"LD_LIBRARY_PATH", (folder.path() / "lib").string()}},
            "maps");
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "built for LibTorch"));
  CHECK(contains(finished.out, "1.2.3"));
  CHECK(contains(finished.out, "rebuild the backend"));
  CHECK_FALSE(contains(finished.out, "mapped " + folder.path().string()));
}

TEST_CASE("automatic choice goes past a LibTorch that cannot serve") {
  const Folder folder;
  const fs::path backends = folder.path() / "lib/torchlean/backends";
  fs::create_directories(backends);
  fs::copy_file(CORE, folder.path() / "lib" / fs::path(CORE_SONAME));
  fs::copy_file(REFERENCE, backends / "torchlean_reference.so");
  fs::copy_file(LIBTORCH, backends / "torchlean_libtorch.so");
  write(backends / "libtorch_cpu.so", "not the library that it was built for\n");
  write(backends.parent_path() / "version.py", "__version__ = '1.2.3'\n");
  const Finished finished = run({PROBE}, {{"LD_LIBRARY_PATH", (folder.path() / "lib").string()}});
  CHECK(finished.exit_code == 0);
  CHECK(contains(finished.out, "backend reference\n"));
  CHECK(contains(attempts_of(finished, "libtorch").at(0), "1.2.3"));
}
#endif
