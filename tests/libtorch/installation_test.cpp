// LibTorch absent, cut off, of another version or incomplete: the status says what is missing, and
// the next backend of a list serves.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
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

const fs::path own_libraries = LIBTORCH_LIBRARIES;

// A folder for LibTorch's libraries, and a copy of the backend that looks for them there.
class Elsewhere {
 public:
  Elsewhere() {
    fs::create_directory(libraries());
    std::string bytes = bytes_of(LIBTORCH_BACKEND);
    const size_t replaced = replace(bytes, own_libraries.string(), libraries().string());
    REQUIRE_MESSAGE(replaced > 0, "the path of LibTorch is too short for another in its place");
    write(backend(), bytes);
  }

  fs::path libraries() const { return folder_.path() / "lib"; }
  fs::path backend() const { return folder_.path() / "torchlean_libtorch.so"; }
  void link(const fs::path &library) const {
    fs::create_symlink(library, libraries() / library.filename());
  }
  void state_version(const std::string &version) const {
    write(folder_.path() / "version.py", "__version__ = '" + version + "'\n");
  }

  // What is said of the copy where the reference may serve in its place.
  std::string refusal() const {
    const Finished finished =
        run({PROBE}, {{"TORCHLEAN_BACKEND", backend().string() + ",reference"}});
    CAPTURE(finished.out);
    CHECK(finished.exit_code == 0);
    CHECK(contains(finished.out, "backend reference\n"));
    CHECK(finished.err.empty());
    const std::vector<std::string> lines = attempts_of(finished, "libtorch");  // the built one, too
    REQUIRE(!lines.empty());
    CHECK(contains(lines[0], backend().string()));
    CHECK(contains(lines[0], "|unavailable|0|"));
    return lines[0];
  }

 private:
  // Slashes fill up what is shorter. How many there were.
  static size_t replace(std::string &bytes, const std::string &from, const std::string &to) {
    if (to.size() > from.size()) return 0;
    size_t count = 0;
    for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; ++count)
      bytes.replace(at, from.size(), to + std::string(from.size() - to.size(), '/'));
    return count;
  }

  Folder folder_;
};

bool has_driver() { return fs::exists("/proc/driver/nvidia/version") || fs::exists("/dev/dxg"); }

std::string refusal_of_cuda(uint32_t has_nvidia_driver) {
  tl_create_options options{};
  options.struct_size = sizeof options;
  options.device = "cuda";
  options.has_nvidia_driver = has_nvidia_driver;
  tl_instance *instance = nullptr;
  CHECK(fake_host::backend().create(&options, &instance) == TL_UNAVAILABLE);
  return fake_host::error();
}

}  // namespace

TEST_CASE("without LibTorch its libraries are named") {
  const std::string refusal = Elsewhere().refusal();
  CAPTURE(refusal);
  CHECK(contains(refusal, "|inspected|"));
  CHECK(contains(refusal, "cannot open shared object file"));
  CHECK(contains(refusal, "not found: libtorch_cpu.so libc10.so"));
}

TEST_CASE("a LibTorch that was cut off is named before it is opened") {
  const Elsewhere elsewhere;
  std::ifstream file(own_libraries / "libtorch_cpu.so", std::ios::binary);
  std::string beginning(1 << 20, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  write(elsewhere.libraries() / "libtorch_cpu.so", beginning);
  elsewhere.link(own_libraries / "libc10.so");
  const std::string refusal = elsewhere.refusal();
  CAPTURE(refusal);
  CHECK(contains(refusal, "|inspected|"));
  CHECK(contains(refusal, "libtorch_cpu.so cannot be used: truncated: the file has 1048576 bytes"));
  CHECK(contains(refusal, "; install LibTorch " LIBTORCH_VERSION " anew"));
}

TEST_CASE("another LibTorch is told by both versions before it is opened") {
  const Elsewhere elsewhere;
  fs::copy_file(OTHER_LIBTORCH, elsewhere.libraries() / "libtorch_cpu.so");
  elsewhere.state_version("2.14.0");
  const std::string refusal = elsewhere.refusal();
  CAPTURE(refusal);
  CHECK(contains(refusal, "|inspected|"));
  CHECK(contains(refusal, "built for LibTorch " LIBTORCH_VERSION ", but "));
  CHECK(contains(refusal, "libtorch_cpu.so is version 2.14.0; rebuild the backend against it"));
}

TEST_CASE("a library that LibTorch itself needs is named") {
  const Elsewhere elsewhere;
  fs::copy_file(LIBTORCH_WITHOUT_CUDART, elsewhere.libraries() / "libtorch_cpu.so");
  elsewhere.link(own_libraries / "libc10.so");
  const std::string refusal = elsewhere.refusal();
  CAPTURE(refusal);
  CHECK(contains(refusal, "libcudart.so.absent: cannot open shared object file"));
  CHECK(contains(refusal, "; install what is missing, or put its folder into LD_LIBRARY_PATH"));
}

TEST_CASE("without a driver a GPU is refused in these words") {
  if (has_driver()) return;
  const Finished finished = run({TORCHLEAN, "status"}, {{"TORCHLEAN_BACKEND", LIBTORCH_BACKEND},
                                                        {"TORCHLEAN_DEVICE", "cuda"}});
  CAPTURE(finished.out);
  CHECK(finished.exit_code == 1);
  CHECK(contains(finished.out, "create: device is \"cuda\": no NVIDIA driver was found"));
  const Finished next = run({TORCHLEAN, "status"},
                            {{"TORCHLEAN_BACKEND", std::string(LIBTORCH_BACKEND) + ",reference"},
                             {"TORCHLEAN_DEVICE", "cuda"}});
  CHECK(next.exit_code == 1);  // the reference has no such device either
}

// Only one LibTorch can be in a process, so these share one whose CUDA half changes.
TEST_CASE("what keeps the CUDA half from being opened is named") {
  const Elsewhere elsewhere;
  const fs::path half = elsewhere.libraries() / "libtorch_cuda.so";
  for (const fs::directory_entry &entry : fs::directory_iterator(own_libraries))
    if (entry.path().filename() != half.filename()) elsewhere.link(entry.path());
  setenv("TL_TEST_BACKEND", elsewhere.backend().c_str(), 1);

  CHECK(refusal_of_cuda(0) == "create: device is \"cuda\": no NVIDIA driver was found");
  CHECK(contains(refusal_of_cuda(1), half.string() + " does not exist: this LibTorch was built for "
                                                     "the host alone"));
  if (!fs::exists(own_libraries / half.filename())) return;
  std::ifstream file(own_libraries / half.filename(), std::ios::binary);
  std::string beginning(1 << 16, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  write(half, beginning);
  CHECK(contains(refusal_of_cuda(1), half.string() + " is truncated"));
  fs::remove(half);
  elsewhere.link(own_libraries / half.filename());
  const std::string refusal = refusal_of_cuda(1);  // NVIDIA's packages do not lie beside it
  CAPTURE(refusal);
  CHECK(contains(refusal, "(not found: "));
  CHECK(contains(refusal, "libcusparseLt.so"));
  CHECK(contains(refusal, "./dev setup"));
}
