// L13: a program with raised privileges ignores variables that name files, and says so.
#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/folder.hpp"
#include "support/probe.hpp"

using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::Folder;
using torchlean_test::run;
namespace fs = std::filesystem;

namespace {

Finished run_with_variables(const fs::path &program) {
  return run({program.string()}, {{"TORCHLEAN_BACKEND", "/nowhere/backend.so"},
                                  {"TORCHLEAN_BACKEND_PATH", "/nowhere"},
                                  {"TORCHLEAN_NUM_THREADS", "3"}});
}

}  // namespace

TEST_CASE("L13: variables that name files are taken without raised privileges") {
  const Finished finished = run_with_variables(PRIVILEGED);
  CHECK(contains(finished.out, "secure 0\nignored \nasked /nowhere/backend.so\n"));
  CHECK(finished.err.empty());
}

TEST_CASE("L13: with raised privileges they are ignored, and status and log say which") {
  const Folder folder;
  const fs::path program = folder.path() / "privileged";
  fs::copy_file(PRIVILEGED, program);
  struct statvfs where = {};
  statvfs(program.c_str(), &where);
  // Another user's program, which runs as that user.
  if (geteuid() != 0 || (where.f_flag & ST_NOSUID) != 0 ||
      chown(program.c_str(), 65534, 65534) != 0 || chmod(program.c_str(), 04755) != 0) {
    MESSAGE("left out: only root can make a program of another user, on a file system with suid");
    return;
  }
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  const Finished finished = run_with_variables(program);
  CHECK(contains(finished.out, "secure 1\n"));
  CHECK(contains(finished.out, "ignored TORCHLEAN_BACKEND TORCHLEAN_BACKEND_PATH\n"));
  CHECK(contains(finished.out, "asked \n"));
  CHECK_FALSE(contains(finished.out, "/nowhere"));
  CHECK(contains(finished.err,
                 "ignored in a process with raised privileges: TORCHLEAN_BACKEND "
                 "TORCHLEAN_BACKEND_PATH"));
}
