// Backends that are bad in one way each (tests/plugins/bad): where each stops, what is said about
// it, and that nothing else suffers (rules L1, L3, L5 to L9, L12, B3, B7, B9, P5).
#include <doctest/doctest.h>

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <torchlean/runtime.hpp>
#include <vector>

#include "support/folder.hpp"
#include "support/probe.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using torchlean_test::attempts_of;
using torchlean_test::bytes_of;
using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::Folder;
using torchlean_test::run;
using torchlean_test::write;
namespace fs = std::filesystem;

namespace {

std::string path_of(const std::string &kind) {
  return std::string(BAD_FOLDER) + "/torchlean_bad-" + kind + ".so";
}

// The probe's process. Everything that is bad is asked for before the reference.
Finished probe_list(const std::string &asked, const std::string &argument = "") {
  std::vector<std::string> command = {PROBE};
  if (!argument.empty()) command.push_back(argument);
  return run(command, {{"TORCHLEAN_BACKEND", asked + ",reference"}});
}

struct Kind {
  const char *kind;
  const char *stage;   // the last one that it passes
  const char *status;  // of its attempt
  const char *reason;  // part of what is recorded
};

const std::vector<Kind> refused_kinds = {
    // Never opened.
    {"no-entry", "found", "unavailable", "it does not export torchlean_backend_entry"},
    {"no-note", "found", "unavailable", "it carries no torchlean note"},
    {"note-other-abi", "found", "unavailable", "built for backend ABI 1000, this core knows ABI"},
    // The dynamic loader refuses them.
    {"missing-library", "inspected", "unavailable", "not found: libbad_dependency.so"},
    {"missing-symbol", "inspected", "unavailable",
     "undefined symbol: torchlean_symbol_that_nobody_has"},
    {"foreign-entry", "opened", "unavailable", "its torchlean_backend_entry lies in another file"},
    // Its entry has run.
    {"null-with-reason", "entry found", "unavailable", "no licence for this machine"},
    {"null-silent", "entry found", "unavailable",
     "torchlean_backend_entry failed without a reason"},
    {"wrong-magic", "entry found", "unavailable", "magic number 0xdeadbeef instead of 0x45424c54"},
    {"table-other-abi", "entry found", "unavailable", "implements backend ABI 1000, this core"},
    {"other-name", "entry found", "unavailable",
     "its table says that it is 'somebody-else', its note says 'bad-other-name'"},
    {"size-tiny", "entry found", "unavailable", "its table states a size of 8 bytes"},
    {"size-huge", "entry found", "unavailable",
     "its table states a size of 18446744073709551615 bytes"},
    {"size-odd", "entry found", "unavailable", "its table states a size of"},
    {"sub-table-garbage", "entry found", "unavailable",
     "one of its sub-tables states a size of 3 bytes"},
    {"no-create", "entry found", "unavailable", "lacks create, destroy or supports"},
    {"no-device", "entry found", "unavailable", "lacks the device or the memory family"},
    {"no-synchronize", "entry found", "unavailable", "device.synchronize"},
    // No instance.
    {"create-fails", "negotiated", "out of memory", "no memory for a context"},
    {"create-fails-silently", "negotiated", "device error", "create failed without a reason"},
    {"create-fails-slowly", "negotiated", "unavailable", "no device (call 1)"},
    {"create-fails-with-instance", "negotiated", "device error",
     "failed after writing its instance"},
    {"create-lies", "negotiated", "internal error", "create answered ok without an instance"},
    // An instance that cannot be trusted.
    {"upload-fails", "created", "internal error",
     "self-test: upload answered \"device error\": the bus is on fire"},
    {"no-result", "created", "internal error", "self-test: upload answered ok without a result"},
    {"wrong-sum", "created", "internal error", "self-test: add gave 4 instead of 3 at index 0"},
    {"claims-upload", "created", "internal error", "self-test: upload answered \"unsupported\""},
    {"self-test-fills-on-failure", "created", "internal error",
     "self-test: add answered \"device error\": failed after writing its output"},
};

bool is_refused_as(const Finished &finished, const Kind &expected) {
  const std::vector<std::string> lines = attempts_of(finished, std::string("bad-") + expected.kind);
  if (lines.size() != 1) return false;
  return contains(lines[0], std::string("|") + expected.stage + "|" + expected.status + "|0|") &&
         contains(lines[0], expected.reason);
}

// The file with its ELF header changed.
template <class Change>
std::string with_header(std::string bytes, const Change &change) {
  Elf64_Ehdr header = {};
  std::memcpy(&header, bytes.data(), sizeof header);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace

TEST_CASE("L7: each bad backend stops at its stage with its reason, and the next one serves") {
  for (const Kind &kind : refused_kinds) {
    const Finished finished = probe_list(path_of(kind.kind));
    CAPTURE(std::string(kind.kind));
    CAPTURE(finished.out);
    CHECK(is_refused_as(finished, kind));
    CHECK(finished.exit_code == 0);
    CHECK(contains(finished.out, "backend reference\n"));
    CHECK(contains(finished.out, "sum 3 4\n"));
    CHECK(finished.err.empty());
  }
}

TEST_CASE("L7: all bad backends in one process, one after another, leave the last one working") {
  std::string all;
  for (const Kind &kind : refused_kinds) all += (all.empty() ? "" : ",") + path_of(kind.kind);
  const Finished finished = probe_list(all);
  for (const Kind &kind : refused_kinds) {
    CAPTURE(std::string(kind.kind));
    CHECK(is_refused_as(finished, kind));
  }
  CHECK(contains(finished.out, "sum 3 4\n"));
}

TEST_CASE("L7: a file that was refused is asked once, however often it is tried") {
  const std::string path = path_of("null-with-reason");
  const Finished finished = probe_list(path + "," + path + "," + path);
  const std::vector<std::string> lines = attempts_of(finished, "bad-null-with-reason");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "(call 1)"));
}

TEST_CASE("a backend without a device, or with one that is lost, has status nativeUnavailable") {
  const auto status_after_failing = [](const std::string &kind) {
    return run({PROBE, "fail"}, {{"TORCHLEAN_BACKEND", path_of(kind)}});
  };
  const Finished lost = status_after_failing("device-lost");
  CHECK(lost.exit_code == 0);
  CHECK(contains(lost.out, "neg: the device has fallen off the bus"));
  CHECK(contains(lost.out, "then status 2\n"));
  const Finished one_failure = status_after_failing("fills-on-failure");
  CHECK(one_failure.exit_code == 0);
  CHECK(contains(one_failure.out, "then status 1\n"));
  const Finished none = run({PROBE}, {{"TORCHLEAN_BACKEND", path_of("no-devices")}});
  CAPTURE(none.out);
  CHECK(contains(none.out, "state 2\n"));
}

TEST_CASE("L12: eight threads that start at once try each candidate once") {
  const Finished finished = probe_list(path_of("create-fails-slowly"), "threads");
  CHECK(contains(finished.out, "sum 3 4\n"));
  const std::vector<std::string> lines = attempts_of(finished, "bad-create-fails-slowly");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "(call 1)"));
}

TEST_CASE("L9: an entry in another file is named with that file, and never called") {
  // It would abort.
  const Finished finished = probe_list(path_of("foreign-entry"));
  CHECK(finished.exit_code == 0);
  const std::vector<std::string> lines = attempts_of(finished, "bad-foreign-entry");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "lies in another file, "));
  CHECK(contains(lines[0], "libbad_dependency.so"));
}

TEST_CASE("L1: asked for by name alone, each one's path, stage and reason is in the message") {
  for (const Kind &kind : refused_kinds) {
    const Finished finished = run({PROBE}, {{"TORCHLEAN_BACKEND", path_of(kind.kind)}});
    CAPTURE(finished.out);
    CHECK(finished.exit_code == 1);
    const std::size_t error = finished.out.find("error unavailable: upload: no backend serves");
    REQUIRE(error != std::string::npos);
    const std::string message = finished.out.substr(error, finished.out.find("\nattempt ") - error);
    CHECK(contains(message, path_of(kind.kind)));
    CHECK(contains(message, kind.reason));
    CHECK(contains(message, std::string("[came as far as: ") + kind.stage + "]"));
    CHECK(contains(message, "Remedy: "));
  }
}

TEST_CASE("L1: a missing library is listed by itself, too") {
  CHECK_THROWS(torchlean::Backend(path_of("missing-library")));
  bool is_listed = false;
  for (const tl_attempt &attempt : torchlean::attempts()) {
    is_listed =
        is_listed || std::string(attempt.missing_libraries).find("libbad_dependency.so") == 0;
  }
  CHECK(is_listed);
}

TEST_CASE("L6: none of a whole folder of bad backends is opened when another is asked for") {
  // By its path: the folder has a `reference`, too.
  const Finished finished =
      run({PROBE, "maps"}, {{"TORCHLEAN_BACKEND", std::string("nobody,") + REFERENCE},
                            {"TORCHLEAN_BACKEND_PATH", BAD_FOLDER}});
  CHECK(contains(finished.out, "sum 3 4\n"));
  CHECK_FALSE(contains(finished.out, std::string("mapped ") + BAD_FOLDER + "/torchlean_bad-"));
  for (const Kind &kind : refused_kinds) {
    CHECK(attempts_of(finished, std::string("bad-") + kind.kind).size() == 1);
  }
}

TEST_CASE("L5: a second backend of one name is listed as shadowed and stays closed") {
  const Finished finished = run({PROBE, "maps"}, {{"TORCHLEAN_BACKEND", "reference"},
                                                  {"TORCHLEAN_BACKEND_PATH", BAD_FOLDER}});
  const std::vector<std::string> lines = attempts_of(finished, "reference");
  REQUIRE(lines.size() == 2);
  CHECK(contains(lines[0], "torchlean_bad-duplicate.so|usable|ok|1|"));
  CHECK(contains(lines[1], "shadowed by " + path_of("duplicate")));
  CHECK_FALSE(contains(finished.out, std::string("mapped ") + REFERENCE));
}

TEST_CASE("L3: a file that is no library is named as what it is and never mapped") {
  const Folder folder;
  const std::string good = bytes_of(path_of("good"));
  const auto header_with = [&](auto member, auto value) {
    return with_header(good, [&](Elf64_Ehdr &header) { header.*member = value; });
  };
  Elf64_Ehdr own = {};
  std::memcpy(&own, good.data(), sizeof own);
  const Elf64_Half foreign = own.e_machine == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  std::string small = good;
  small[EI_CLASS] = ELFCLASS32;
  const struct {
    const char *name;
    std::string bytes;
    const char *reason;
  } files[] = {
      {"text", "not a library\n", "not an ELF file"},
      {"script", "#!/bin/sh\necho hello\n", "not an ELF file"},
      {"empty", "", "an empty file"},
      {"foreign", header_with(&Elf64_Ehdr::e_machine, foreign), "built for "},
      {"program", header_with(&Elf64_Ehdr::e_type, Elf64_Half{ET_EXEC}), "a program"},
      {"object", header_with(&Elf64_Ehdr::e_type, Elf64_Half{ET_REL}), "an object file"},
      {"thirty-two", small, "32-bit, this process is 64-bit"},
  };
  for (const auto &file : files) {
    const fs::path path = folder.path() / (std::string("torchlean_") + file.name + ".so");
    write(path, file.bytes);
    const Finished finished = probe_list(path.string(), "maps");
    CAPTURE(std::string(file.name));
    const std::vector<std::string> lines = attempts_of(finished, file.name);
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], file.reason));
    CHECK(contains(lines[0], "|found|unavailable|0|"));
    CHECK_FALSE(contains(finished.out, "mapped " + path.string()));
    CHECK(contains(finished.out, "sum 3 4\n"));
  }
}

TEST_CASE(
    "L3: folders, pipes, dangling links and unreadable files are recorded, and nothing hangs") {
  const Folder folder;
  fs::create_directory(folder.path() / "torchlean_folder.so");
  REQUIRE(mkfifo((folder.path() / "torchlean_pipe.so").c_str(), 0600) == 0);
  fs::create_symlink("nowhere", folder.path() / "torchlean_dangling.so");
  fs::create_symlink("torchlean_loop.so", folder.path() / "torchlean_loop.so");
  fs::create_symlink(path_of("good"), folder.path() / "torchlean_link.so");
  const Finished finished = run({PROBE}, {{"TORCHLEAN_BACKEND", "bad-good"},
                                          {"TORCHLEAN_BACKEND_PATH", folder.path().string()}});
  const auto reason_is = [&](const char *name, const char *reason) {
    const std::vector<std::string> lines = attempts_of(finished, name);
    return lines.size() == 1 && contains(lines[0], reason);
  };
  CHECK(reason_is("folder", "a folder"));
  CHECK(reason_is("pipe", "not a regular file"));
  CHECK(reason_is("dangling", "No such file or directory"));
  CHECK(reason_is("loop", "Too many levels of symbolic links"));
  // A link to a backend is that backend.
  CHECK(contains(finished.out, "backend bad-good\n"));
  CHECK(contains(finished.out, "sum 3 4\n"));
}

TEST_CASE("L3: a backend that is cut anywhere is either whole enough or never opened") {
  const Folder folder;
  const fs::path path = folder.path() / "torchlean_cut.so";
  const std::string good = bytes_of(path_of("good"));
  int refused = 0;
  for (std::size_t size = 1; size < good.size(); size += 1 + good.size() / 24) {
    write(path, good.substr(0, size));
    const Finished finished = probe_list(path.string(), "maps");
    CAPTURE(size);
    CHECK(finished.exit_code == 0);
    CHECK(contains(finished.out, "sum 3 4\n"));
    if (contains(finished.out, "backend bad-good\n")) continue;  // only debug information is gone
    ++refused;
    CHECK_FALSE(contains(finished.out, "mapped " + path.string()));
    CHECK(contains(finished.out, "backend reference\n"));
  }
  CHECK(refused >= 12);
}

TEST_CASE("L8: a table smaller or larger than the core's serves as far as both know it") {
  for (const char *kind : {"size-smaller", "size-larger"}) {
    CAPTURE(std::string(kind));
    const torchlean::Backend backend(path_of(kind));
    const torchlean::ThreadBackend guard(backend);
    const std::vector<float> sent = {1.5F, -2.0F};
    const torchlean::Buffer x = torchlean::upload(sent);
    CHECK(torchlean::download<float>(torchlean::add(x, x)) == std::vector<float>{3.0F, -4.0F});
    tl_buffer *out = nullptr;
    CHECK(tl_slice1d(x.get(), 2, 0, 1, &out) == TL_UNSUPPORTED);
    CHECK(out == nullptr);
  }
}

TEST_CASE("a slow start is waited for, and the time it took is recorded") {
  const torchlean::Backend backend(path_of("slow"));
  bool is_recorded = false;
  for (const tl_attempt &attempt : torchlean::attempts()) {
    is_recorded =
        is_recorded || (std::string(attempt.name) == "bad-slow" && attempt.microseconds >= 300000);
  }
  CHECK(is_recorded);
}

TEST_CASE("B3: what a backend writes on failure is ignored") {
  const torchlean::Backend backend(path_of("fills-on-failure"));
  const torchlean::ThreadBackend guard(backend);
  const torchlean::Buffer x = torchlean::upload(std::vector<float>{1.0F});
  const tl_counters before = torchlean::counters();
  tl_buffer *out = nullptr;
  CHECK(tl_unary(TL_UNARY_NEG, x.get(), &out) == TL_DEVICE_ERROR);
  CHECK(out == nullptr);
  CHECK(contains(tl_last_error(), "neg: failed after writing its output"));
  const tl_counters after = torchlean::counters();
  CHECK(after.created_buffers == before.created_buffers);
  CHECK(after.live_bytes == before.live_bytes);
}

TEST_CASE("B7: an operation that is claimed and not there is refused when it is called") {
  const torchlean::Backend backend(path_of("claims-exp"));
  const torchlean::ThreadBackend guard(backend);
  CHECK(backend.supports(TL_OP_exp, TL_FLOAT32));
  const torchlean::Buffer x = torchlean::upload(std::vector<float>{1.0F});
  tl_buffer *out = nullptr;
  CHECK(tl_unary(TL_UNARY_EXP, x.get(), &out) == TL_UNSUPPORTED);
  CHECK(out == nullptr);
}

#if defined(__x86_64__)
TEST_CASE("B9: opening a backend that was linked with -ffast-math changes no thread's state") {
  const unsigned before = _mm_getcsr();
  const torchlean::Backend backend(path_of("fast-math"));
  CHECK(_mm_getcsr() == before);
  // A copy that the dynamic loader opens by itself does.
  const Folder folder;
  fs::copy_file(path_of("fast-math"), folder.path() / "copy.so");
  CHECK(dlopen((folder.path() / "copy.so").c_str(), RTLD_NOW) != nullptr);
  CHECK(_mm_getcsr() != before);
  _mm_setcsr(before);
}
#endif

TEST_CASE("P5: a backend that writes to stdout is the only one that does") {
  const auto opening_prints = [](const std::string &name) {
    return contains(run({PROBE, "open", name}).out, "says hello");
  };
  CHECK(opening_prints(path_of("prints")));
  CHECK_FALSE(opening_prints(path_of("good")));
}
