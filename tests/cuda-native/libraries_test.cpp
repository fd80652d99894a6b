// cuBLAS and cuFFT behind the seam, with stand-ins for both: how they are found, what they are
// asked, what their failures become.
#include <doctest/doctest.h>

#include "device_api.hpp"
#include "fake_cuda.hpp"
#include "fake_libraries.hpp"
#include "libraries.hpp"
#include "seam.hpp"
#include "shared_library.hpp"

#include <cublas_v2.h>
#include <cufft.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace torchlean;
using namespace torchlean::cuda;
using fake_cuda::machine;
namespace fs = std::filesystem;

namespace {

const std::string blas_file = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
const std::string fft_file = "libcufft.so." + std::to_string(CUFFT_VER_MAJOR);

// Puts a stand-in where the loader looks: this program's run path has the folder.
void put(const std::string &file, const char *stand_in) {
  const fs::path path = fs::path(FOUND_FOLDER) / file;
  fs::remove(path);
  fs::create_symlink(stand_in, path);
}

template <class State>
State &state_of(const std::string &file, const char *function) {
  void *const library = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  return *reinterpret_cast<State *(*)()>(dlsym(library, function))();
}

FakeCublas &blas() { return state_of<FakeCublas>(blas_file, "fake_cublas_state"); }
FakeCufft &fft() { return state_of<FakeCufft>(fft_file, "fake_cufft_state"); }

// (2, 3) x (3, 2) twice, by hand, as rows; the library stores by columns.
void multiply(device::Stream &stream, bool transpose_a, bool transpose_b, bool tf32) {
  // Of the rows a = [1 2 3; 4 5 6] the columns are a^T, so the library's operands are swapped.
  const std::vector<double> a = transpose_a
                                    ? std::vector<double>{1, 4, 2, 5, 3, 6, 1, 0, 0, 1, 0, 0}
                                    : std::vector<double>{1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0};
  const std::vector<double> b = transpose_b
                                    ? std::vector<double>{1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12}
                                    : std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<double> c(8, -1);
  device::multiply<double>(stream, "bmm",
                           {.batch = 2,
                            .rows = 2,
                            .columns = 2,
                            .terms = 3,
                            .a = b.data(),
                            .transpose_a = transpose_b,
                            .b = a.data(),
                            .transpose_b = transpose_a,
                            .c = c.data()},
                           tf32);
  CHECK(c == std::vector<double>{22, 28, 49, 64, 7, 8, 9, 10});
}

}  // namespace

TEST_CASE("a library that is not there is named with the remedy, and found once it is") {
  const std::string file = "libcublas.so.none";
  fs::remove(fs::path(FOUND_FOLDER) / file);
  const auto open = [&] { return device::SharedLibrary(file, "NVIDIA's cuBLAS 13"); };
  const auto [status, text] = failure_of(open);
  CHECK(status == TL_UNAVAILABLE);
  CHECK(text.starts_with(file + " cannot be opened: " + file + ": cannot open shared object file"));
  CHECK(text.ends_with("; install NVIDIA's cuBLAS 13, or put its folder into LD_LIBRARY_PATH"));
  put(file, FAKE_CUBLAS);
  void (*function)() = nullptr;
  open().find("cublasCreate_v2", function);
  CHECK((function != nullptr));
  CHECK(failure_of([&] { open().find("cublasNothing", function); }) ==
        std::pair<tl_status, std::string>(
            TL_UNAVAILABLE, file + " has no function cublasNothing; install NVIDIA's cuBLAS 13"));
}

TEST_CASE("products reach cuBLAS with their transposes, and TF32 only where it is allowed") {
  put(blas_file, FAKE_CUBLAS);
  fake_cuda::reset();
  {
    const auto stream = stream_on(0);
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        multiply(*stream, transpose_a, transpose_b, transpose_a);
    CHECK(blas().is_tf32);
    multiply(*stream, false, false, false);
    CHECK_FALSE(blas().is_tf32);
    CHECK(blas().handles == 1);
    CHECK(blas().stream != nullptr);

    // Extents that all differ, so that each leading dimension must be its own; 1 * 1 + 2 * 1 ...
    const std::vector<float> ones(64, 1);
    std::vector<float> c(2 * 5 * 3);
    device::multiply<float>(*stream, "bmm",
                            {2, 5, 3, 4, ones.data(), true, ones.data(), true, c.data()}, false);
    CHECK(c == std::vector<float>(30, 4));
  }
  CHECK(blas().handles == 0);
}

TEST_CASE("cuBLAS's failures have their status, and an earlier fault is told first") {
  put(blas_file, FAKE_CUBLAS);
  fake_cuda::reset();
  const auto stream = stream_on(0);
  multiply(*stream, false, false, false);
  const auto failing = [&](int answer) {
    blas().answer = answer;
    return failure_of([&] { multiply(*stream, false, false, false); });
  };
  CHECK(failing(CUBLAS_STATUS_ALLOC_FAILED) ==
        std::pair<tl_status, std::string>(
            TL_OUT_OF_MEMORY, "bmm: matrix product by cuBLAS: the resource allocation failed"));
  CHECK(failing(CUBLAS_STATUS_EXECUTION_FAILED).first == TL_DEVICE_ERROR);
  machine().fault = cudaErrorIllegalAddress;
  const auto [status, text] = failing(CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(status == TL_DEVICE_LOST);
  CHECK(text.starts_with("bmm: from an earlier operation: "));
}

TEST_CASE("transforms reach cuFFT row by row, and back again times n") {
  put(fft_file, FAKE_CUFFT);
  fake_cuda::reset();
  const auto stream = stream_on(0);
  for (const uint64_t n : {1, 2, 5, 8}) {
    CAPTURE(n);
    const uint64_t words = 2 * (n / 2 + 1);
    std::vector<double> signal(3 * n);
    for (uint64_t i = 0; i < signal.size(); ++i) signal[i] = static_cast<double>(i * i % 7);
    std::vector<double> bins(3 * words, -1), back(3 * n, -1);
    device::transform_forward(*stream, "rfft", 3, n, signal.data(), bins.data());
    for (uint64_t row = 0; row < 3; ++row) {  // bin 0 is the row's sum
      double sum = 0;
      for (uint64_t j = 0; j < n; ++j) sum += signal[row * n + j];
      CHECK(bins[row * words] == doctest::Approx(sum));
    }
    device::transform_inverse(*stream, "irfft", 3, n, bins.data(), back.data());
    for (uint64_t i = 0; i < back.size(); ++i)
      CHECK(back[i] == doctest::Approx(signal[i] * static_cast<double>(n)));
  }
  std::vector<float> signal = {1, 2, 3, 4}, bins(6), back(4);
  device::transform_forward(*stream, "rfft", 1, 4, signal.data(), bins.data());
  CHECK(bins[0] == doctest::Approx(10));
  CHECK(bins[2] == doctest::Approx(-2));
  CHECK(bins[3] == doctest::Approx(2));
  device::transform_inverse(*stream, "irfft", 1, 4, bins.data(), back.data());
  CHECK(back[3] == doctest::Approx(16));
}

TEST_CASE("plans are kept for the next call, not for ever, and work in memory of ours") {
  put(fft_file, FAKE_CUFFT);
  fake_cuda::reset();
  {
    const auto stream = stream_on(0);
    std::vector<double> signal(64), bins(128);
    const auto run = [&](uint64_t n) {
      device::transform_forward(*stream, "rfft", 1, n, signal.data(), bins.data());
    };
    run(8);
    const int made = fft().made;
    const int blocks = machine().calls["cudaMallocFromPoolAsync"];
    run(8);
    CHECK(fft().made == made);
    CHECK(fft().workspace != nullptr);
    CHECK(machine().calls["cudaMallocFromPoolAsync"] == blocks + 1);
    CHECK(machine().blocks.empty());
    for (uint64_t n = 9; n < 40; ++n) run(n);
    CHECK(fft().plans == 16);
    run(39);
    CHECK(fft().made == made + 31);

    machine().next["cudaMallocFromPoolAsync"] = cudaErrorMemoryAllocation;
    CHECK(failure_of([&] { run(39); }).first == TL_OUT_OF_MEMORY);
    fft().answer = CUFFT_EXEC_FAILED;
    const auto [status, text] = failure_of([&] { run(39); });
    CHECK(status == TL_DEVICE_ERROR);
    CHECK(text == "rfft: Fourier transform by cuFFT: cuFFT's error 6");
    CHECK(machine().blocks.empty());
    run(39);
  }
  CHECK(fft().plans == 0);
}
