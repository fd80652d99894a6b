/* The Lean symbols of the slice in a real Lean process: values, pairs, arrays, formats, release. */
#include <math.h>
#include <string.h>

#include "lean_process.h"

enum { float32 = TL_FLOAT32, float64 = TL_FLOAT64, encoded = TL_ENCODED };

static bool same_bytes(const void *left, const void *right, size_t bytes) {
  return memcmp(left, right, bytes) == 0;
}

static void allocation_gives_a_buffer_of_the_size_and_dtype(void) {
  lean_object *x = take_value(torchlean_cuda_buffer_zeros_io(5, float64));
  CHECK_EQUAL(torchlean_cuda_buffer_size(x), 5);
  CHECK_EQUAL(torchlean_cuda_buffer_size_with_token(x, 7), 5);
  CHECK_EQUAL(torchlean_cuda_buffer_dtype(x), float64);
  double values[5] = {1, 1, 1, 1, 1};
  read_buffer(x, 5, values);
  for (int i = 0; i < 5; ++i) CHECK_EQUAL(values[i], 0);

  lean_object *like = torchlean_cuda_buffer_zeros_like(x, 2);
  CHECK_EQUAL(torchlean_cuda_buffer_size(like), 2);
  CHECK_EQUAL(torchlean_cuda_buffer_dtype(like), float64);
  lean_dec(like);
  lean_dec(x);

  lean_object *full = torchlean_cuda_buffer_full(3, 0.1, float32);
  read_buffer(full, 3, values);
  CHECK_EQUAL(values[2], (float)0.1);
  lean_dec(full);
}

static void float_arrays_and_bytes_cross_unchanged(void) {
  const double values[] = {1.5, -0.0, INFINITY, 1e300};
  lean_object *array = make_floats(4, values);
  lean_object *x = take_value(torchlean_cuda_buffer_of_float_array_io(array, float64));
  lean_dec(array);
  lean_object *back = take_value(torchlean_cuda_buffer_to_float_array_io(x));
  CHECK(lean_is_sarray(back) && lean_sarray_elem_size(back) == sizeof(double));
  CHECK(same_bytes(lean_sarray_cptr(back), values, sizeof values));
  lean_dec(back);
  lean_dec(x);

  const float words[] = {3.25f, -7};
  lean_object *bytes = make_bytes(sizeof words, words);
  lean_object *y = take_value(torchlean_cuda_buffer_of_bytes_io(bytes, float64, float32));
  CHECK_EQUAL(torchlean_cuda_buffer_dtype(y), float64);
  lean_object *out = take_value(torchlean_cuda_buffer_to_bytes_io(y, float32));
  CHECK_EQUAL(lean_sarray_elem_size(out), 1);
  CHECK_EQUAL(lean_sarray_size(out), sizeof words);
  CHECK(same_bytes(lean_sarray_cptr(out), words, sizeof words));
  lean_dec(out);
  lean_dec(y);
  lean_dec(bytes);
}

static lean_object *make_format(size_t exponent, size_t fraction, size_t bias, uint8_t encoding) {
  lean_object *format = lean_alloc_ctor(0, 3, 1);
  lean_ctor_set(format, 0, lean_box(exponent));
  lean_ctor_set(format, 1, lean_box(fraction));
  lean_ctor_set(format, 2, lean_box(bias));
  lean_ctor_set_uint8(format, 3 * sizeof(void *), encoding);
  return format;
}

static void encoded_words_keep_their_format(void) {
  const uint8_t words[] = {0x00, 0x3c, 0xff, 0x7b}; /* binary16: 1, 65504 */
  lean_object *bytes = make_bytes(sizeof words, words);
  lean_object *format = make_format(5, 10, 15, TL_ENCODING_IEEE);
  lean_object *x = take_value(torchlean_cuda_buffer_of_encoded_io(bytes, format, 2));
  CHECK_EQUAL(torchlean_cuda_buffer_dtype(x), encoded);
  CHECK_EQUAL(torchlean_cuda_buffer_size(x), 2);

  lean_object *some = torchlean_cuda_buffer_format(x);
  CHECK(!lean_is_scalar(some) && lean_ptr_tag(some) == 1 && lean_ctor_num_objs(some) == 1);
  lean_object *back = lean_ctor_get(some, 0);
  CHECK_EQUAL(lean_ctor_num_objs(back), 3);
  CHECK(lean_ctor_get(back, 0) == lean_box(5));
  CHECK(lean_ctor_get(back, 1) == lean_box(10));
  CHECK(lean_ctor_get(back, 2) == lean_box(15));
  CHECK_EQUAL(lean_ctor_get_uint8(back, 3 * sizeof(void *)), TL_ENCODING_IEEE);
  lean_dec(some);

  lean_object *out = take_value(torchlean_cuda_buffer_to_encoded_io(x));
  CHECK_EQUAL(lean_sarray_size(out), sizeof words);
  CHECK(same_bytes(lean_sarray_cptr(out), words, sizeof words));
  lean_dec(out);
  lean_dec(x);
  lean_dec(format);
  lean_dec(bytes);

  lean_object *native = torchlean_cuda_buffer_zeros(1, float32);
  CHECK(torchlean_cuda_buffer_format(native) == lean_box(0));
  lean_dec(native);
}

static void release_retires_once_and_leaves_an_empty_handle(void) {
  lean_object *x = torchlean_cuda_buffer_full(4, 2, float32);
  lean_inc(x);
  lean_object *alias = x;
  CHECK_EQUAL(torchlean_cuda_buffer_release_with_token(x, 0), 1);
  CHECK_EQUAL(torchlean_cuda_buffer_release_with_token(x, 1), 0);
  CHECK_EQUAL(torchlean_cuda_buffer_size(alias), 0);
  const IoError error = take_error(torchlean_cuda_buffer_to_float_array_io(alias));
  CHECK(strcmp(error.constructor, "userError") == 0);
  CHECK_CONTAINS(error.text, "buffer has been released");
  lean_dec(alias);
  lean_dec(x);
}

static void release_then_returns_the_kept_object_itself(void) {
  lean_object *workspace = torchlean_cuda_buffer_full(4, 2, float32);
  lean_object *keep = torchlean_cuda_buffer_full(2, 3, float32);
  const uint64_t wrappers = torchlean_cuda_wrapper_live_count(0);
  lean_object *same = torchlean_cuda_buffer_release_then(workspace, keep);
  CHECK(same == keep);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), wrappers);
  CHECK_EQUAL(torchlean_cuda_buffer_size(workspace), 0);
  CHECK_EQUAL(torchlean_cuda_buffer_size(same), 2);
  lean_dec(same);

  lean_object *both = torchlean_cuda_buffer_release_then(keep, keep);
  CHECK(both == keep);
  CHECK_EQUAL(torchlean_cuda_buffer_size(both), 0);
  lean_dec(both);
  lean_dec(keep);
  lean_dec(workspace);
}

static void copies_are_independent(void) {
  const double values[] = {1, 2};
  lean_object *x = make_buffer(2, values, float32);
  lean_object *pair = torchlean_cuda_buffer_duplicate(x);
  CHECK(lean_ptr_tag(pair) == 0 && lean_ctor_num_objs(pair) == 2);
  lean_object *moved = torchlean_cuda_buffer_copy_and_release(x);
  CHECK_EQUAL(torchlean_cuda_buffer_size(x), 0);
  double back[2] = {0};
  read_buffer(moved, 2, back);
  CHECK_EQUAL(back[1], 2);
  read_buffer(lean_ctor_get(pair, 0), 2, back);
  CHECK_EQUAL(back[0], 1);
  CHECK_EQUAL(torchlean_cuda_buffer_release_with_token(lean_ctor_get(pair, 0), 0), 1);
  read_buffer(lean_ctor_get(pair, 1), 2, back);
  CHECK_EQUAL(back[1], 2);
  lean_dec(moved);
  lean_dec(pair);
  lean_dec(x);
}

static void several_results_come_as_pairs_nested_to_the_right(void) {
  const double left[] = {1, 5, 3};
  const double right[] = {2, 4, 3};
  const double gradient[] = {10, 20, 30};
  lean_object *a = make_buffer(3, left, float32);
  lean_object *b = make_buffer(3, right, float32);
  lean_object *g = make_buffer(3, gradient, float32);
  double values[3] = {0};
  lean_object *two = torchlean_cuda_buffer_max_bwd(a, b, g);
  read_buffer(lean_ctor_get(two, 0), 3, values);
  CHECK_EQUAL(values[0], 0);
  CHECK_EQUAL(values[1], 20);
  CHECK_EQUAL(values[2], 15);
  read_buffer(lean_ctor_get(two, 1), 3, values);
  CHECK_EQUAL(values[0], 10);
  lean_dec(two);

  /* One step with beta1 = 0.5 and beta2 = 0: m' = 0.5 g, v' = g^2, p' = p - m' / (g + 0). */
  lean_object *zero = torchlean_cuda_buffer_zeros(3, float32);
  lean_object *three =
      torchlean_cuda_buffer_adam_step(a, g, zero, zero, 0.5, 0.5, 0, 1, 1, 1, 0, 0, -1);
  read_buffer(lean_ctor_get(three, 0), 3, values);
  CHECK_EQUAL(values[1], 4.5);
  lean_object *moments = lean_ctor_get(three, 1);
  read_buffer(lean_ctor_get(moments, 0), 3, values);
  CHECK_EQUAL(values[1], 10);
  read_buffer(lean_ctor_get(moments, 1), 3, values);
  CHECK_EQUAL(values[1], 400);
  lean_dec(three);
  lean_dec(zero);
  lean_dec(g);
  lean_dec(b);
  lean_dec(a);
}

static void a_scaled_product_comes_with_its_flag_boxed(void) {
  const double left[] = {1, 2, 3, 4};
  const double right[] = {1, 1};
  lean_object *a = make_buffer(4, left, float64);
  lean_object *b = make_buffer(2, right, float64);
  lean_object *pair = take_value(torchlean_cuda_buffer_bmm_scaled_io(a, b, 1, 2, 2, 1, 0, 0, 2.0));
  CHECK(lean_ctor_get(pair, 1) == lean_box(0));
  double values[2] = {0};
  read_buffer(lean_ctor_get(pair, 0), 2, values);
  CHECK_EQUAL(values[0], 6);
  CHECK_EQUAL(values[1], 14);
  lean_dec(pair);
  lean_object *product = torchlean_cuda_buffer_bmm_with_transpose(a, b, 1, 2, 2, 1, 1, 0);
  read_buffer(product, 2, values);
  CHECK_EQUAL(values[0], 4);
  lean_dec(product);
  lean_dec(b);
  lean_dec(a);

  lean_object *x = make_floats(4, left);
  lean_object *y = make_floats(2, right);
  lean_object *host = torchlean_dgemm_cuda(x, y, 2, 2, 1);
  CHECK_EQUAL(lean_sarray_size(host), 2);
  CHECK_EQUAL(((double *)(void *)lean_sarray_cptr(host))[1], 7);
  lean_dec(host);
  lean_dec(y);
  lean_dec(x);
}

static void arrays_of_naturals_are_lists_of_dimensions(void) {
  const double values[] = {1, 2, 3, 4, 5, 6};
  lean_object *x = make_buffer(6, values, float32);
  lean_object *dims = make_naturals(2, (size_t[]){2, 3});
  double out[6] = {0};
  lean_object *sums = torchlean_cuda_buffer_reduce_sum_axis(x, dims, 0);
  read_buffer(sums, 3, out);
  CHECK_EQUAL(out[2], 9);
  lean_object *swapped = torchlean_cuda_buffer_swap_adjacent_at_depth(x, dims, 0);
  read_buffer(swapped, 6, out);
  CHECK_EQUAL(out[1], 4);
  lean_object *column = make_naturals(1, (size_t[]){3});
  lean_object *map = make_naturals(2, (size_t[]){0, 1});
  lean_object *wide = torchlean_cuda_buffer_broadcast_to(sums, column, dims, map);
  read_buffer(wide, 6, out);
  CHECK_EQUAL(out[5], 9);
  lean_object *narrow = torchlean_cuda_buffer_reduce_from_broadcast(wide, column, dims, map);
  read_buffer(narrow, 3, out);
  CHECK_EQUAL(out[2], 18);
  lean_object *objects[] = {narrow, wide, map, column, swapped, sums, dims, x};
  drop_all(8, objects);
}

/* One call of each remaining symbol of the slice; the arithmetic is judged by other tests. */
static void every_symbol_of_the_slice_answers(void) {
  typedef lean_object *(*Unary)(lean_object *);
  static const Unary unary[] = {torchlean_cuda_buffer_abs,        torchlean_cuda_buffer_neg,
                                torchlean_cuda_buffer_floor,      torchlean_cuda_buffer_sqrt,
                                torchlean_cuda_buffer_inv,        torchlean_cuda_buffer_relu,
                                torchlean_cuda_buffer_exp,        torchlean_cuda_buffer_log,
                                torchlean_cuda_buffer_log1p,      torchlean_cuda_buffer_sin,
                                torchlean_cuda_buffer_cos,        torchlean_cuda_buffer_tanh,
                                torchlean_cuda_buffer_sigmoid,    torchlean_cuda_buffer_gelu,
                                torchlean_cuda_buffer_copy,       torchlean_cuda_buffer_reduce_sum,
                                torchlean_cuda_buffer_reduce_mean};
  typedef lean_object *(*Binary)(lean_object *, lean_object *);
  static const Binary binary[] = {
      torchlean_cuda_buffer_add,      torchlean_cuda_buffer_sub,     torchlean_cuda_buffer_mul,
      torchlean_cuda_buffer_div,      torchlean_cuda_buffer_max,     torchlean_cuda_buffer_min,
      torchlean_cuda_buffer_mask,     torchlean_cuda_buffer_abs_bwd, torchlean_cuda_buffer_sqrt_bwd,
      torchlean_cuda_buffer_relu_bwd, torchlean_cuda_buffer_gelu_bwd};
  typedef lean_object *(*ByRow)(lean_object *, uint32_t, uint32_t);
  static const ByRow by_row[] = {
      torchlean_cuda_buffer_reduce_sum_by_row, torchlean_cuda_buffer_reduce_max_by_row,
      torchlean_cuda_buffer_reduce_max_by_column, torchlean_cuda_buffer_first_max_mask_by_row};

  const double values[] = {1, 2, 4, 8};
  lean_object *x = make_buffer(4, values, float64);
  lean_object *results[64];
  size_t count = 0;
  for (size_t i = 0; i < sizeof unary / sizeof *unary; ++i) results[count++] = unary[i](x);
  for (size_t i = 0; i < sizeof binary / sizeof *binary; ++i) results[count++] = binary[i](x, x);
  for (size_t i = 0; i < sizeof by_row / sizeof *by_row; ++i) results[count++] = by_row[i](x, 2, 2);
  results[count++] = torchlean_cuda_buffer_scale(x, 2);
  results[count++] = torchlean_cuda_buffer_clamp(x, 2, 4);
  results[count++] = torchlean_cuda_buffer_clamp_bwd(x, x, 2, 4);
  results[count++] = torchlean_cuda_buffer_axpy(x, x, 2);
  results[count++] = torchlean_cuda_buffer_scaled_prod_exp(x, x, 0);
  results[count++] = torchlean_cuda_buffer_top_k_mask_by_row(x, 2, 2, 1);
  results[count++] = torchlean_cuda_buffer_concat1d(x, x, 4, 4);
  results[count++] = torchlean_cuda_buffer_slice1d(x, 4, 1, 2);
  results[count++] = torchlean_cuda_buffer_broadcast_vec_to_cols(x, 4, 2);
  results[count++] = torchlean_cuda_buffer_rand_uniform(4, 1, float32);
  results[count++] = torchlean_cuda_buffer_rand_normal(4, 0, 1, 1, float32);
  results[count++] = torchlean_cuda_buffer_bernoulli_mask(4, 0.5, 1, float32);
  results[count++] = take_value(torchlean_cuda_buffer_rand_uniform_io(4, 1, float32));
  results[count++] = take_value(torchlean_cuda_buffer_bernoulli_mask_io(4, 0.5, 1, float32));
  results[count++] = take_value(torchlean_cuda_buffer_full_io(4, 1, float32));
  results[count++] = torchlean_cuda_buffer_min_bwd(x, x, x);
  for (size_t i = 0; i < count; ++i) {
    CHECK(!lean_is_scalar(results[i]));
    lean_dec(results[i]);
  }
  lean_dec(x);
}

static void scalar_order_is_kept(void) {
  const double values[] = {-1, 0.5, 3};
  lean_object *x = make_buffer(3, values, float64);
  double out[3] = {0};
  lean_object *clamped = torchlean_cuda_buffer_clamp(x, 0, 1);
  read_buffer(clamped, 3, out);
  CHECK_EQUAL(out[0], 0);
  CHECK_EQUAL(out[2], 1);
  lean_object *sum = torchlean_cuda_buffer_axpy(x, clamped, 10); /* x + 10 clamped */
  read_buffer(sum, 3, out);
  CHECK_EQUAL(out[2], 13);
  lean_object *part = torchlean_cuda_buffer_slice1d(x, 3, 1, 2);
  read_buffer(part, 2, out);
  CHECK_EQUAL(out[0], 0.5);
  lean_object *joined = torchlean_cuda_buffer_concat1d(part, x, 2, 3);
  double five[5] = {0};
  read_buffer(joined, 5, five);
  CHECK_EQUAL(five[2], -1);
  lean_object *difference = torchlean_cuda_buffer_sub(x, clamped);
  read_buffer(difference, 3, out);
  CHECK_EQUAL(out[2], 2);
  lean_object *masked = torchlean_cuda_buffer_mask(x, clamped);
  read_buffer(masked, 3, out);
  CHECK_EQUAL(out[0], 0);
  CHECK_EQUAL(out[2], 3);
  lean_object *rows = torchlean_cuda_buffer_broadcast_vec_to_cols(part, 2, 2);
  double four[4] = {0};
  read_buffer(rows, 4, four);
  CHECK_EQUAL(four[1], 0.5);
  CHECK_EQUAL(four[2], 3);
  lean_object *objects[] = {rows, masked, difference, joined, part, sum, clamped, x};
  drop_all(8, objects);
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(allocation_gives_a_buffer_of_the_size_and_dtype),
                               TEST(float_arrays_and_bytes_cross_unchanged),
                               TEST(encoded_words_keep_their_format),
                               TEST(release_retires_once_and_leaves_an_empty_handle),
                               TEST(release_then_returns_the_kept_object_itself),
                               TEST(copies_are_independent),
                               TEST(several_results_come_as_pairs_nested_to_the_right),
                               TEST(a_scaled_product_comes_with_its_flag_boxed),
                               TEST(arrays_of_naturals_are_lists_of_dimensions),
                               TEST(every_symbol_of_the_slice_answers),
                               TEST(scalar_order_is_kept),
                               {0}};
  static const Scenario none[] = {{0}};
  return run_tests(argc, argv, tests, none);
}
