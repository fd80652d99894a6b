// Matrix products by cuBLAS.
#include "device_stream.cuh"
#include "libraries.hpp"
#include "shared_library.hpp"

#include <cublas_v2.h>

#include <type_traits>

namespace torchlean::cuda::device {

namespace {

// The functions that we call, of the library that the headers belong to.
struct Cublas {
  SharedLibrary library{"libcublas.so." + std::to_string(CUBLAS_VER_MAJOR),
                        "NVIDIA's cuBLAS " + std::to_string(CUBLAS_VER_MAJOR)};
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasSgemmStridedBatched_64) sgemm;
  decltype(&cublasDgemmStridedBatched_64) dgemm;
  decltype(&cublasGetStatusString) text;

  Cublas() {
    library.find("cublasCreate_v2", create);
    library.find("cublasDestroy_v2", destroy);
    library.find("cublasSetStream_v2", set_stream);
    library.find("cublasSetMathMode", set_math_mode);
    library.find("cublasSgemmStridedBatched_64", sgemm);
    library.find("cublasDgemmStridedBatched_64", dgemm);
    library.find("cublasGetStatusString", text);
  }
};

const Cublas &cublas(const char *operation) { return opened<Cublas>(operation); }

void check(Stream &stream, const char *operation, const char *step, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw_failure(stream, operation, step, status == CUBLAS_STATUS_ALLOC_FAILED,
                  cublas(operation).text(status));
  }
}

// The stream's own handle: with one for each stream the same call gives the same bits.
cublasHandle_t handle_of(Stream &stream, const char *operation) {
  if (stream.products == nullptr) {
    const Cublas &library = cublas(operation);
    cublasHandle_t handle = nullptr;
    check(stream, operation, "cublasCreate", library.create(&handle));
    std::shared_ptr<void> keeper(
        handle, [&library](void *made) { library.destroy(static_cast<cublasHandle_t>(made)); });
    check(stream, operation, "cublasSetStream", library.set_stream(handle, stream.queue));
    stream.products = std::move(keeper);
  }
  return static_cast<cublasHandle_t>(stream.products.get());
}

}  // namespace

template <class T>
void multiply(Stream &stream, const char *operation, const Product<T> &product, bool tf32) {
  make_current(stream, operation);
  const Cublas &library = cublas(operation);
  const std::lock_guard lock(stream.libraries);
  const cublasHandle_t handle = handle_of(stream, operation);
  check(stream, operation, "cublasSetMathMode",
        library.set_math_mode(handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
  const T one = 1;
  const T zero = 0;
  const auto i64 = [](uint64_t extent) { return static_cast<int64_t>(extent); };
  const auto stride = [](uint64_t extent) { return static_cast<long long>(extent); };
  const auto way = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto run = [&](auto gemm) {
    check(stream, operation, "matrix product by cuBLAS",
          gemm(handle, way(product.transpose_a), way(product.transpose_b), i64(product.rows),
               i64(product.columns), i64(product.terms), &one, product.a,
               i64(product.transpose_a ? product.terms : product.rows),
               stride(product.rows * product.terms), product.b,
               i64(product.transpose_b ? product.columns : product.terms),
               stride(product.terms * product.columns), &zero, product.c, i64(product.rows),
               stride(product.rows * product.columns), i64(product.batch)));
  };
  if constexpr (std::is_same_v<T, float>) {
    run(library.sgemm);
  } else {
    run(library.dgemm);
  }
}

template void multiply<float>(Stream &, const char *, const Product<float> &, bool);
template void multiply<double>(Stream &, const char *, const Product<double> &, bool);

}  // namespace torchlean::cuda::device
