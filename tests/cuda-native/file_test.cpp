// The file cuda-native as it is built, and what it answers where there is no NVIDIA driver.
#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "selection/driver.hpp"
#include "support/probe.hpp"

using torchlean::has_nvidia_driver;
using torchlean_test::attempts_of;
using torchlean_test::contains;
using torchlean_test::Finished;
using torchlean_test::run;

namespace {

const std::string no_device = "present, loadable, no usable device (no NVIDIA driver)";

}  // namespace

TEST_CASE("the file is small and needs the C library alone") {
  CHECK(std::filesystem::file_size(CUDA_NATIVE) < 30'000'000);
  const Finished finished = run({READELF, "-dW", CUDA_NATIVE});
  REQUIRE(finished.exit_code == 0);
  std::istringstream lines(finished.out);
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!contains(line, "(NEEDED)")) continue;
    CAPTURE(line);
    CHECK(
        (contains(line, "[libc.so") || contains(line, "[libm.so") || contains(line, "[ld-linux")));
    ++needed;
  }
  CHECK(needed > 0);
}

TEST_CASE("without a driver it is loaded when asked for by name, and says what it lacks") {
  if (has_nvidia_driver()) return;
  const Finished finished = run({PROBE, "maps"}, {{"TORCHLEAN_BACKEND", "cuda-native"}});
  CAPTURE(finished.out);
  CHECK(finished.exit_code == 1);
  CHECK(finished.err.empty());
  CHECK(contains(finished.out, "error unavailable: upload: no backend serves"));
  const std::vector<std::string> lines = attempts_of(finished, "cuda-native");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "|negotiated|unavailable|0|create: " + no_device));
  CHECK(contains(finished.out, std::string("mapped ") + CUDA_NATIVE));
  CHECK_FALSE(contains(finished.out, "libcuda"));
  CHECK_FALSE(contains(finished.out, "libcublas"));
}

TEST_CASE(
    "without a driver a list goes on to the next one, and a device is refused like that, too") {
  if (has_nvidia_driver()) return;
  const Finished next = run({PROBE}, {{"TORCHLEAN_BACKEND", "cuda-native,reference"}});
  CHECK(next.exit_code == 0);
  CHECK(contains(next.out, "backend reference\n"));
  CHECK(contains(next.out, "sum 3 4\n"));
  CHECK(contains(attempts_of(next, "cuda-native").at(0), no_device));
  const Finished device =
      run({PROBE}, {{"TORCHLEAN_BACKEND", CUDA_NATIVE}, {"TORCHLEAN_DEVICE", "cuda:3"}});
  CHECK(contains(attempts_of(device, "cuda-native").at(0), no_device));
  const Finished host =
      run({PROBE}, {{"TORCHLEAN_BACKEND", CUDA_NATIVE}, {"TORCHLEAN_DEVICE", "cpu"}});
  CHECK(contains(attempts_of(host, "cuda-native").at(0), "create: device is \"cpu\", expected"));
}

TEST_CASE("L6: without a driver automatic choice leaves it at inspection, and says why") {
  if (has_nvidia_driver()) return;
  const Finished finished = run({PROBE, "maps"});
  CAPTURE(finished.out);
  CHECK(finished.exit_code == 0);
  CHECK(finished.err.empty());
  const std::vector<std::string> lines = attempts_of(finished, "cuda-native");
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], "|inspected|ok|0|no usable device (no NVIDIA driver)"));
  CHECK_FALSE(contains(finished.out, std::string("mapped ") + CUDA_NATIVE));
}

TEST_CASE("without a driver `status --probe` opens it and says so") {
  if (has_nvidia_driver()) return;
  const Finished finished = run({TORCHLEAN, "status", "--probe"});
  CHECK(finished.exit_code == 0);
  const size_t probes = finished.out.find("each opened in a process of its own");
  REQUIRE(probes != std::string::npos);
  CHECK(contains(finished.out.substr(probes), no_device));
}

TEST_CASE("tools go on without it, and `ops` says why") {
  if (has_nvidia_driver()) return;
  const Finished all = run({TORCHLEAN, "ops"});
  CHECK(all.exit_code == 0);
  CHECK(contains(all.out, "cuda-native is not usable: "));
  const Finished asked = run({TORCHLEAN, "compare", "--backends", "reference,cuda-native"});
  CHECK(asked.exit_code == 4);
}
