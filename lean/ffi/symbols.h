/* clang-format off */
/* The prototypes of the Lean symbols, made from symbols.tsv by make_symbols.awk: do not edit.
 * Every file of the shim includes it, so that the compiler compares each function with the table. */
#ifndef TORCHLEAN_LEAN_SYMBOLS_H
#define TORCHLEAN_LEAN_SYMBOLS_H

#include "lean_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

LEAN_EXPORT uint32_t torchlean_cuda_runtime_status(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_allocator_live_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_allocator_peak_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_allocator_alloc_count(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_allocator_free_count(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_wrapper_live_count(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_wrapper_peak_count(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_wrapper_alloc_count(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_wrapper_finalize_count(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_allocator_device_free_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_cuda_allocator_device_total_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_libtorch_allocated_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_libtorch_reserved_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_libtorch_peak_allocated_bytes(uint32_t token);
LEAN_EXPORT uint64_t torchlean_libtorch_peak_reserved_bytes(uint32_t token);
LEAN_EXPORT uint32_t torchlean_runtime_collect_allocator(uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_libtorch_version(uint32_t token);
LEAN_EXPORT uint32_t torchlean_libtorch_device_count(uint32_t token);
LEAN_EXPORT uint32_t torchlean_libtorch_get_device(uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_libtorch_set_device(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_get_setting(uint32_t id);
LEAN_EXPORT lean_obj_res torchlean_libtorch_set_setting(uint32_t id, uint32_t enabled);
LEAN_EXPORT lean_obj_res torchlean_libtorch_get_memory_fraction(uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_libtorch_set_memory_fraction(double fraction);
LEAN_EXPORT lean_obj_res torchlean_libtorch_synchronize(uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_libtorch_empty_cache(uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_name(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_capability(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_sm_count(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_clock_khz(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_mem_clock_khz(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_mem_bus_width(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_device_total_bytes(uint32_t index);
LEAN_EXPORT lean_obj_res torchlean_libtorch_driver_version(uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_libtorch_runtime_version(uint32_t token);
LEAN_EXPORT uint8_t torchlean_cuda_buffer_dtype(b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_format(b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_of_encoded_io(b_lean_obj_arg bytes, b_lean_obj_arg format, uint64_t width);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_to_encoded_io(b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_fail(b_lean_obj_arg message);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_of_float_array(b_lean_obj_arg a, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_of_float_array_io(b_lean_obj_arg a, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_to_float_array(b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_to_float_array_io(b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_to_bytes_io(b_lean_obj_arg b, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_of_bytes_io(b_lean_obj_arg bytes, uint8_t dtype, uint8_t source);
LEAN_EXPORT uint32_t torchlean_cuda_buffer_size(b_lean_obj_arg b);
LEAN_EXPORT uint32_t torchlean_cuda_buffer_size_with_token(b_lean_obj_arg b, uint32_t token);
LEAN_EXPORT uint32_t torchlean_cuda_buffer_release_with_token(b_lean_obj_arg b, uint32_t token);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_release_then(b_lean_obj_arg workspace, b_lean_obj_arg keep);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_zeros(uint32_t n, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_zeros_io(uint32_t n, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_zeros_like(b_lean_obj_arg reference, uint32_t count);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_full(uint32_t n, double v, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_full_io(uint32_t n, double v, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_rand_uniform(uint32_t n, uint64_t key, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_rand_uniform_io(uint32_t n, uint64_t key, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_rand_normal(uint32_t n, double mean, double std, uint64_t key, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_bernoulli_mask(uint32_t n, double keep_prob, uint64_t key, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_bernoulli_mask_io(uint32_t n, double keep_prob, uint64_t key, uint8_t dtype);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_abs(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_abs_bwd(b_lean_obj_arg x, b_lean_obj_arg d_ldy);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_floor(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_sqrt(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_sqrt_bwd(b_lean_obj_arg x, b_lean_obj_arg d_ldy);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_exp(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_sin(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_cos(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_log(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_log1p(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_inv(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_clamp(b_lean_obj_arg x, double lo, double hi);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_clamp_bwd(b_lean_obj_arg x, b_lean_obj_arg d_ldy, double lo, double hi);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_max(b_lean_obj_arg a, b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_max_bwd(b_lean_obj_arg a, b_lean_obj_arg b, b_lean_obj_arg d_ldy);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_min(b_lean_obj_arg a, b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_min_bwd(b_lean_obj_arg a, b_lean_obj_arg b, b_lean_obj_arg d_ldy);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_div(b_lean_obj_arg a, b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_neg(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_mask(b_lean_obj_arg values, b_lean_obj_arg allowed);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_relu(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_relu_bwd(b_lean_obj_arg x, b_lean_obj_arg d_ldy);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_sigmoid(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_tanh(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_gelu(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_gelu_bwd(b_lean_obj_arg x, b_lean_obj_arg d_ldy);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_add(b_lean_obj_arg a, b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_sub(b_lean_obj_arg a, b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_mul(b_lean_obj_arg a, b_lean_obj_arg b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_scale(b_lean_obj_arg x, double c);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_copy(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_duplicate(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_copy_and_release(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_axpy(b_lean_obj_arg a, b_lean_obj_arg b, double c);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_adam_step(b_lean_obj_arg parameters, b_lean_obj_arg gradient, b_lean_obj_arg first_moment, b_lean_obj_arg second_moment, double beta1, double one_minus_beta1, double beta2, double one_minus_beta2, double first_moment_correction, double second_moment_correction, double epsilon, double decay, double update_scale);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_scaled_prod_exp(b_lean_obj_arg x, b_lean_obj_arg y, double c);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_sum(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_mean(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_softmax_io(b_lean_obj_arg x, b_lean_obj_arg dims, uint32_t axis);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_cross_entropy_io(b_lean_obj_arg logits, b_lean_obj_arg weights, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_distillation_io(b_lean_obj_arg student, b_lean_obj_arg teacher, uint32_t rows, uint32_t cols, uint8_t gradient);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_conv_io(b_lean_obj_arg input, b_lean_obj_arg kernel, b_lean_obj_arg bias, b_lean_obj_arg input_dims, b_lean_obj_arg kernel_dims, b_lean_obj_arg strides, b_lean_obj_arg padding_before, b_lean_obj_arg padding_after, b_lean_obj_arg dilations, uint32_t groups);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_sum_by_row(b_lean_obj_arg x, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_max_by_row(b_lean_obj_arg x, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_max_by_column(b_lean_obj_arg x, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_first_max_mask_by_row(b_lean_obj_arg x, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_top_k_mask_by_row(b_lean_obj_arg x, uint32_t rows, uint32_t cols, uint32_t k);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_hard_masked_softmax_by_row(b_lean_obj_arg scores, b_lean_obj_arg mask, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_concat1d(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t n, uint32_t m);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_slice1d(b_lean_obj_arg x, uint32_t n, uint32_t start, uint32_t len);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_broadcast_vec_to_cols(b_lean_obj_arg vec, uint32_t rows, uint32_t cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_layer_norm_fwd(b_lean_obj_arg x, b_lean_obj_arg gamma, b_lean_obj_arg beta, uint32_t rows, uint32_t cols, double inv_cols, double epsilon);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_layer_norm_bwd(b_lean_obj_arg d_out, b_lean_obj_arg normalized, b_lean_obj_arg inv_std, b_lean_obj_arg gamma, uint32_t rows, uint32_t cols, double cols_scale, double inv_cols);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_bmm_with_transpose(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t batch, uint32_t m, uint32_t n, uint32_t p, uint32_t transpose_a, uint32_t transpose_b);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_bmm_scaled_io(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t batch, uint32_t m, uint32_t n, uint32_t p, uint32_t transpose_a, uint32_t transpose_b, double scale);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_rfft1d_packed(b_lean_obj_arg x, uint32_t batch, uint32_t n);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_irfft1d_packed(b_lean_obj_arg spec, uint32_t batch, uint32_t n);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_irfft1d_packed_unnormalized(b_lean_obj_arg spec, uint32_t batch, uint32_t n);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_selective_scan_diag_fwd(b_lean_obj_arg a, b_lean_obj_arg b, b_lean_obj_arg x, b_lean_obj_arg h0, uint32_t seq_len, uint32_t state);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_selective_scan_diag_bwd(b_lean_obj_arg a, b_lean_obj_arg b, b_lean_obj_arg x, b_lean_obj_arg h0, b_lean_obj_arg out, b_lean_obj_arg d_y, uint32_t seq_len, uint32_t state);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_selective_scan_diag_var_fwd(b_lean_obj_arg a, b_lean_obj_arg b, b_lean_obj_arg x, b_lean_obj_arg h0, uint32_t seq_len, uint32_t state);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_selective_scan_diag_var_bwd(b_lean_obj_arg a, b_lean_obj_arg b, b_lean_obj_arg x, b_lean_obj_arg h0, b_lean_obj_arg out, b_lean_obj_arg d_y, uint32_t seq_len, uint32_t state);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_scatter_add(b_lean_obj_arg x, b_lean_obj_arg values, uint32_t n, b_lean_obj_arg indices, uint32_t k);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_broadcast_to(b_lean_obj_arg x, b_lean_obj_arg in_dims, b_lean_obj_arg out_dims, b_lean_obj_arg axis_map);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_from_broadcast(b_lean_obj_arg d_out, b_lean_obj_arg in_dims, b_lean_obj_arg out_dims, b_lean_obj_arg axis_map);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_swap_adjacent_at_depth(b_lean_obj_arg x, b_lean_obj_arg dims, uint32_t depth);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_reduce_sum_axis(b_lean_obj_arg x, b_lean_obj_arg dims, uint32_t axis);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_gather_rows(b_lean_obj_arg mat, uint32_t rows, uint32_t cols, b_lean_obj_arg indices, uint32_t k);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_scatter_add_rows(b_lean_obj_arg mat, b_lean_obj_arg values, uint32_t rows, uint32_t cols, b_lean_obj_arg indices, uint32_t k);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_encoded_binary(b_lean_obj_arg a, b_lean_obj_arg b, uint8_t op);
LEAN_EXPORT lean_obj_res torchlean_cuda_buffer_encoded_neg(b_lean_obj_arg x);
LEAN_EXPORT lean_obj_res torchlean_kernel_run_encoded(b_lean_obj_arg source, b_lean_obj_arg inputs, b_lean_obj_arg format, uint64_t width, uint64_t count);
LEAN_EXPORT lean_obj_res torchlean_kernel_run_buffer(b_lean_obj_arg source, b_lean_obj_arg inputs, uint64_t count);
LEAN_EXPORT lean_obj_res torchlean_kernel_run_bytes(b_lean_obj_arg source, uint32_t format, uint64_t width, b_lean_obj_arg arrays, uint64_t count);
LEAN_EXPORT lean_obj_res torchlean_dgemm_cuda(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t m, uint32_t n, uint32_t p);
LEAN_EXPORT lean_obj_res torchlean_cuda_conv_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel, b_lean_obj_arg bias, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c);
LEAN_EXPORT lean_obj_res torchlean_cuda_conv_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel, b_lean_obj_arg grad, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c);
LEAN_EXPORT lean_obj_res torchlean_cuda_convtranspose_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel, b_lean_obj_arg bias, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c);
LEAN_EXPORT lean_obj_res torchlean_cuda_convtranspose_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel, b_lean_obj_arg grad, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c);
LEAN_EXPORT lean_obj_res torchlean_cuda_maxpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels);
LEAN_EXPORT lean_obj_res torchlean_cuda_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels);
LEAN_EXPORT lean_obj_res torchlean_cuda_avgpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels);
LEAN_EXPORT lean_obj_res torchlean_cuda_avgpool_bwd(b_lean_obj_arg grad, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels);
LEAN_EXPORT lean_obj_res torchlean_cuda_smooth_maxpool_fwd(b_lean_obj_arg input, double beta, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels);
LEAN_EXPORT lean_obj_res torchlean_cuda_smooth_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad, double beta, b_lean_obj_arg in_spatial, b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding, uint32_t channels);

#ifdef __cplusplus
}
#endif

#endif
