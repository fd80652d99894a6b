// Pooling family: maximum, average and smooth maximum of windows over 1 to 3 spatial axes.
#include <cmath>

#include "dispatch/windows.hpp"

namespace torchlean {
namespace {

struct PoolArguments {
  tl_list in_spatial;
  tl_list kernel;
  tl_list stride;
  tl_list padding;
  std::uint64_t channels;
};

struct Pool {
  tl_pooling_params params = {};
  std::uint64_t in_count = 0;
  std::uint64_t out_count = 0;
};

// An axis without input, or with padding beyond half of the window, has no places.
std::int64_t places(const tl_pooling_params &params, std::size_t axis) {
  const std::int64_t padding = 2 * params.padding[axis];
  if (params.in[axis] == 0 || padding > params.kernel[axis]) return 0;
  return window_places(params.in[axis] + padding, params.kernel[axis], 1, params.stride[axis]);
}

// The canonical shape; after the operands, since beta is rounded to their dtype.
Pool make_pool(Call &call, tl_pooling_op op, const PoolArguments &given, double beta) {
  Pool pool;
  tl_pooling_params &params = pool.params;
  params.struct_size = sizeof params;
  params.channels = given.channels;
  const std::span<const std::uint64_t> in = entries(call, "inSpatial", given.in_spatial);
  const std::span<const std::uint64_t> kernel = entries(call, "kernel", given.kernel);
  const std::size_t rank = in.size();
  check_spatial_rank(call, "inSpatial", rank);
  write_axes(call, "inSpatial", in, 0, rank, 0, 1, params.in);
  write_axes(call, "kernel", kernel, 0, rank, 1, 1, params.kernel);
  write_axes(call, "stride", entries(call, "stride", given.stride), 0, rank, 1, 1, params.stride);
  write_axes(call, "padding", entries(call, "padding", given.padding), 0, rank, 0, 0,
             params.padding);
  call.product("kernel", kernel);  // the average divides by it
  if (call.failed()) return pool;
  if (op == TL_POOLING_SMOOTH_MAX) {
    params.beta = call.rounded(beta);
    if (!std::isfinite(params.beta) || params.beta == 0.0) {
      call.refuse(TL_INVALID_ARGUMENT,
                  "beta is {}, {} in the operands' dtype, expected a finite number other than 0",
                  beta, params.beta);
    }
  }
  for (std::size_t axis = 0; axis < spatial_axes; ++axis) params.out[axis] = places(params, axis);
  const std::array<std::uint64_t, 1> front = {given.channels};
  pool.in_count = volume(call, "channels and inSpatial", front, params.in);
  pool.out_count = volume(call, "channels and the output lengths", front, params.out);
  return pool;
}

tl_status forward(tl_operation operation, tl_pooling_op op, const tl_buffer *input,
                  const PoolArguments &given, double beta, tl_buffer **out) {
  Call call(operation);
  const tl_operand *operand = call.native("input", input);
  const Pool pool = make_pool(call, op, given, beta);
  call.check_count("input", operand, pool.in_count, "channels * the product of inSpatial");
  return call.result(out, pool.out_count, [&](Backend &backend, tl_storage **storage) {
    return backend.pooling.forward(backend.instance, op, operand, &pool.params, 0, storage);
  });
}

// `input` is looked at unless op is the average.
tl_status backward(tl_operation operation, tl_pooling_op op, const tl_buffer *input,
                   const tl_buffer *grad, const PoolArguments &given, double beta,
                   tl_buffer **out) {
  Call call(operation);
  const bool has_input = op != TL_POOLING_AVERAGE;
  const tl_operand *operand = has_input ? call.native("input", input) : nullptr;
  const tl_operand *gradient = call.native("grad", grad);
  const Pool pool = make_pool(call, op, given, beta);
  if (has_input) {
    call.check_count("input", operand, pool.in_count, "channels * the product of inSpatial");
  }
  call.check_count("grad", gradient, pool.out_count,
                   "channels * the product of the output lengths");
  if (pool.out_count == 0) return call.filled<1>({out}, {pool.in_count}, 0.0);
  return call.result(out, pool.in_count, [&](Backend &backend, tl_storage **storage) {
    return backend.pooling.backward(backend.instance, op, operand, gradient, &pool.params, 0,
                                    storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_maxpool_fwd(const tl_buffer *input, tl_list in_spatial, tl_list kernel, tl_list stride,
                         tl_list padding, uint64_t channels, tl_buffer **out) {
  return forward(TL_OP_maxpool_fwd, TL_POOLING_MAX, input,
                 {in_spatial, kernel, stride, padding, channels}, 0.0, out);
}

tl_status tl_maxpool_bwd(const tl_buffer *input, const tl_buffer *grad, tl_list in_spatial,
                         tl_list kernel, tl_list stride, tl_list padding, uint64_t channels,
                         tl_buffer **out) {
  return backward(TL_OP_maxpool_bwd, TL_POOLING_MAX, input, grad,
                  {in_spatial, kernel, stride, padding, channels}, 0.0, out);
}

tl_status tl_avgpool_fwd(const tl_buffer *input, tl_list in_spatial, tl_list kernel, tl_list stride,
                         tl_list padding, uint64_t channels, tl_buffer **out) {
  return forward(TL_OP_avgpool_fwd, TL_POOLING_AVERAGE, input,
                 {in_spatial, kernel, stride, padding, channels}, 0.0, out);
}

tl_status tl_avgpool_bwd(const tl_buffer *grad, tl_list in_spatial, tl_list kernel, tl_list stride,
                         tl_list padding, uint64_t channels, tl_buffer **out) {
  return backward(TL_OP_avgpool_bwd, TL_POOLING_AVERAGE, nullptr, grad,
                  {in_spatial, kernel, stride, padding, channels}, 0.0, out);
}

tl_status tl_smooth_maxpool_fwd(const tl_buffer *input, double beta, tl_list in_spatial,
                                tl_list kernel, tl_list stride, tl_list padding, uint64_t channels,
                                tl_buffer **out) {
  return forward(TL_OP_smooth_maxpool_fwd, TL_POOLING_SMOOTH_MAX, input,
                 {in_spatial, kernel, stride, padding, channels}, beta, out);
}

tl_status tl_smooth_maxpool_bwd(const tl_buffer *input, const tl_buffer *grad, double beta,
                                tl_list in_spatial, tl_list kernel, tl_list stride, tl_list padding,
                                uint64_t channels, tl_buffer **out) {
  return backward(TL_OP_smooth_maxpool_bwd, TL_POOLING_SMOOTH_MAX, input, grad,
                  {in_spatial, kernel, stride, padding, channels}, beta, out);
}

}  // extern "C"
