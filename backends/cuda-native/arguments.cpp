// The checks of arguments that all backends share, on behalf of an operation.
#include "arguments.hpp"
#include "windows.hpp"

#include <torchlean/backend_arguments.hpp>
#include <torchlean/backend_windows.hpp>

namespace torchlean::cuda {

namespace {

SlidingAxis axis_of(const WindowAxis &axis) {
  return {axis.size[Side::window], axis.size[Side::tap], axis.size[Side::position], axis.stride,
          axis.dilation,           axis.padding};
}

std::array<SlidingAxis, 3> axes_of(const WindowGrid &windows) {
  return {axis_of(windows[0]), axis_of(windows[1]), axis_of(windows[2])};
}

// What make() returns; what it throws says on whose behalf.
template <class Make>
auto named(const char *operation, Make make) {
  try {
    return make();
  } catch (const Failure &failure) {
    throw Failure(failure.status(), std::string(operation) + ": " + failure.what());
  }
}

}  // namespace

tl_broadcast_params known_broadcast(const char *operation, const tl_broadcast_params &params,
                                    uint64_t small_count) {
  return named(operation, [&] { return torchlean::known_broadcast(&params, small_count); });
}

tl_bmm_params known_bmm(const char *operation, const tl_bmm_params &params, uint64_t a_count,
                        uint64_t b_count) {
  return named(operation, [&] { return torchlean::known_bmm(&params, a_count, b_count); });
}

ConvolutionShape checked_shape(const char *operation, tl_convolution_op op,
                               const tl_convolution_params &params) {
  return named(operation, [&]() -> ConvolutionShape {
    const ConvolutionGeometry geometry(op, &params);
    return {geometry.params,         axes_of(geometry.windows),
            geometry.in_size,        geometry.out_size,
            geometry.taps,           geometry.input_count(),
            geometry.output_count(), geometry.kernel_count()};
  });
}

PoolingShape checked_shape(const char *operation, tl_pooling_op op, tl_dtype dtype,
                           const tl_pooling_params &params) {
  return named(operation, [&] {
    const PoolingGeometry geometry(op, &params);
    PoolingShape shape{geometry.params,   axes_of(geometry.windows), geometry.in_size,
                       geometry.out_size, geometry.input_count(),    geometry.output_count(),
                       geometry.volume};
    with_native(dtype, [&]<class T>(T) {
      shape.params.beta = static_cast<double>(checked_beta<T>(op, geometry.params.beta));
    });
    return shape;
  });
}

}  // namespace torchlean::cuda
