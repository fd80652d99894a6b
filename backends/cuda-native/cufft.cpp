// Real Fourier transforms by cuFFT.
#include "device_stream.cuh"
#include "libraries.hpp"
#include "shared_library.hpp"

#include <cufft.h>

#include <list>
#include <type_traits>

namespace torchlean::cuda::device {

namespace {

// The functions that we call, of the library that the headers belong to.
struct Cufft {
  SharedLibrary library{"libcufft.so." + std::to_string(CUFFT_VER_MAJOR),
                        "NVIDIA's cuFFT " + std::to_string(CUFFT_VER_MAJOR)};
  decltype(&cufftCreate) create;
  decltype(&cufftDestroy) destroy;
  decltype(&cufftSetStream) set_stream;
  decltype(&cufftSetAutoAllocation) set_auto_allocation;
  decltype(&cufftSetWorkArea) set_work_area;
  decltype(&cufftMakePlanMany64) make_plan;
  decltype(&cufftExecR2C) forward_float;
  decltype(&cufftExecC2R) inverse_float;
  decltype(&cufftExecD2Z) forward_double;
  decltype(&cufftExecZ2D) inverse_double;

  Cufft() {
    library.find("cufftCreate", create);
    library.find("cufftDestroy", destroy);
    library.find("cufftSetStream", set_stream);
    library.find("cufftSetAutoAllocation", set_auto_allocation);
    library.find("cufftSetWorkArea", set_work_area);
    library.find("cufftMakePlanMany64", make_plan);
    library.find("cufftExecR2C", forward_float);
    library.find("cufftExecC2R", inverse_float);
    library.find("cufftExecD2Z", forward_double);
    library.find("cufftExecZ2D", inverse_double);
  }
};

const Cufft &cufft(const char *operation) { return opened<Cufft>(operation); }

void check(Stream &stream, const char *operation, const char *step, cufftResult status) {
  if (status != CUFFT_SUCCESS) {
    throw_failure(stream, operation, step, status == CUFFT_ALLOC_FAILED,
                  "cuFFT's error " + std::to_string(status));
  }
}

// How one kind of transform is done. Its workspace is ours, taken anew for each call.
class Plan {
 public:
  Plan(Stream &stream, const char *operation, cufftType type, uint64_t batch, uint64_t n)
      : library_(cufft(operation)), type_(type), batch_(batch), n_(n) {
    check(stream, operation, "cufftCreate", library_.create(&handle_));
    try {
      check(stream, operation, "cufftSetAutoAllocation", library_.set_auto_allocation(handle_, 0));
      check(stream, operation, "cufftSetStream", library_.set_stream(handle_, stream.queue));
      auto length = static_cast<long long>(n);
      long long bins = length / 2 + 1;
      const bool forward = type == CUFFT_R2C || type == CUFFT_D2Z;
      long long *const in = forward ? &length : &bins;
      long long *const out = forward ? &bins : &length;
      check(stream, operation, "cufftMakePlanMany64",
            library_.make_plan(handle_, 1, &length, in, 1, *in, out, 1, *out, type,
                               static_cast<long long>(batch), &workspace_));
    } catch (...) {
      library_.destroy(handle_);
      throw;
    }
  }
  ~Plan() { library_.destroy(handle_); }
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;

  bool is_for(cufftType type, uint64_t batch, uint64_t n) const {
    return type_ == type && batch_ == batch && n_ == n;
  }

  // execute(handle) with the workspace in place.
  template <class Execute>
  void run(Stream &stream, const char *operation, Execute execute) {
    void *const workspace = workspace_ == 0 ? nullptr : allocate(stream, operation, workspace_);
    cufftResult status = library_.set_work_area(handle_, workspace);
    if (status == CUFFT_SUCCESS) {
      status = execute(handle_);
    }
    if (workspace != nullptr) {
      deallocate(stream, workspace, workspace_);
    }
    check(stream, operation, "Fourier transform by cuFFT", status);
  }

 private:
  const Cufft &library_;
  cufftType type_;
  uint64_t batch_;
  uint64_t n_;
  cufftHandle handle_ = 0;
  size_t workspace_ = 0;
};

// The plans used last, the latest first: making one takes longer than most transforms.
using Plans = std::list<Plan>;

Plan &plan_for(Stream &stream, const char *operation, cufftType type, uint64_t batch, uint64_t n) {
  constexpr size_t most = 16;
  if (stream.transforms == nullptr) {
    stream.transforms = std::make_shared<Plans>();
  }
  auto &plans = *static_cast<Plans *>(stream.transforms.get());
  for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
    if (plan->is_for(type, batch, n)) {
      plans.splice(plans.begin(), plans, plan);
      return plans.front();
    }
  }
  if (plans.size() == most) {
    plans.pop_back();
  }
  return plans.emplace_front(stream, operation, type, batch, n);
}

}  // namespace

template <class T>
void transform_forward(Stream &stream, const char *operation, uint64_t batch, uint64_t n,
                       const T *signal, T *bins) {
  make_current(stream, operation);
  const Cufft &library = cufft(operation);
  const std::lock_guard lock(stream.libraries);
  // Out of place it reads its input only.
  T *const from = const_cast<T *>(signal);
  if constexpr (std::is_same_v<T, float>) {
    plan_for(stream, operation, CUFFT_R2C, batch, n).run(stream, operation, [&](cufftHandle plan) {
      return library.forward_float(plan, from, reinterpret_cast<cufftComplex *>(bins));
    });
  } else {
    plan_for(stream, operation, CUFFT_D2Z, batch, n).run(stream, operation, [&](cufftHandle plan) {
      return library.forward_double(plan, from, reinterpret_cast<cufftDoubleComplex *>(bins));
    });
  }
}

template <class T>
void transform_inverse(Stream &stream, const char *operation, uint64_t batch, uint64_t n, T *bins,
                       T *signal) {
  make_current(stream, operation);
  const Cufft &library = cufft(operation);
  const std::lock_guard lock(stream.libraries);
  if constexpr (std::is_same_v<T, float>) {
    plan_for(stream, operation, CUFFT_C2R, batch, n).run(stream, operation, [&](cufftHandle plan) {
      return library.inverse_float(plan, reinterpret_cast<cufftComplex *>(bins), signal);
    });
  } else {
    plan_for(stream, operation, CUFFT_Z2D, batch, n).run(stream, operation, [&](cufftHandle plan) {
      return library.inverse_double(plan, reinterpret_cast<cufftDoubleComplex *>(bins), signal);
    });
  }
}

template void transform_forward<float>(Stream &, const char *, uint64_t, uint64_t, const float *,
                                       float *);
template void transform_forward<double>(Stream &, const char *, uint64_t, uint64_t, const double *,
                                        double *);
template void transform_inverse<float>(Stream &, const char *, uint64_t, uint64_t, float *,
                                       float *);
template void transform_inverse<double>(Stream &, const char *, uint64_t, uint64_t, double *,
                                        double *);

}  // namespace torchlean::cuda::device
