// C++ over runtime.h: handles that free themselves, failures as exceptions, results as return
// values.
//
// Header only, C++20. Everything here is one call of runtime.h; what an operation computes is said
// there and in docs/operations.md. Every function may throw Error, and may be called from any
// thread. A Buffer or Backend object itself belongs to one thread at a time, as a std::unique_ptr
// does.
#pragma once

#include <torchlean/runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchlean {

// ---- Failures ----------------------------------------------------------------------------------

// A call that did not return TL_OK; what() is the text of tl_last_error().
class Error : public std::runtime_error {
 public:
  Error(tl_status status, const std::string &text) : std::runtime_error(text), status_(status) {}
  tl_status status() const noexcept { return status_; }

 private:
  tl_status status_;
};

// Throws unless the call succeeded.
inline void check(tl_status status) {
  if (status != TL_OK) throw Error(status, tl_last_error());
}

// Runs the body of a main function: prints the message of whatever it throws to stderr and returns
// 1; otherwise returns its int, or 0 where it returns nothing.
template <class Body>
int run_main(Body &&body) noexcept {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      std::forward<Body>(body)();
      return 0;
    } else {
      return std::forward<Body>(body)();
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  } catch (...) {
    std::fputs("error: an exception of unknown type\n", stderr);
  }
  return 1;
}

// ---- Buffers -----------------------------------------------------------------------------------

// The scalar kind of a C++ type: float or double.
template <class T>
inline constexpr tl_dtype dtype_of = [] {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "float or double");
  return std::is_same_v<T, float> ? TL_FLOAT32 : TL_FLOAT64;
}();

// Owns one handle. A moved-from or default-constructed Buffer holds none.
class Buffer {
 public:
  Buffer() noexcept = default;
  explicit Buffer(tl_buffer *owned) noexcept : handle_(owned) {}
  Buffer(Buffer &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Buffer &operator=(Buffer &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { tl_buffer_free(handle_); }

  // Borrowed; NULL where it holds none.
  tl_buffer *get() const noexcept { return handle_; }
  // Number of elements; 0 once released.
  std::uint64_t size() const noexcept { return handle_ == nullptr ? 0 : tl_buffer_size(handle_); }
  tl_dtype dtype() const {
    tl_dtype result = 0;
    check(tl_buffer_dtype(handle_, &result));
    return result;
  }
  // Retires the payload now; the handle stays, empty. True if there was something to retire.
  bool release() noexcept { return handle_ != nullptr && tl_buffer_release(handle_) != 0; }

 private:
  tl_buffer *handle_ = nullptr;
};

// A list of dimensions or axes, borrowed for one call: {2, 3}, a vector or a span.
class List {
 public:
  List(std::initializer_list<std::uint64_t> values) : values_(std::data(values), values.size()) {}
  List(const std::vector<std::uint64_t> &values) : values_(values) {}
  List(std::span<const std::uint64_t> values) : values_(values) {}
  const std::uint64_t *data() const noexcept { return values_.data(); }
  std::size_t size() const noexcept { return values_.size(); }

 private:
  std::span<const std::uint64_t> values_;
};

namespace detail {
// The one result of a call: detail::result(tl_copy, x.get()).
template <class Function, class... Arguments>
Buffer result(Function function, Arguments... arguments) {
  tl_buffer *out = nullptr;
  check(function(arguments..., &out));
  return Buffer(out);
}
}  // namespace detail

// ---- Memory and transfer -----------------------------------------------------------------------

inline Buffer zeros(std::uint64_t count, tl_dtype dtype) {
  return detail::result(tl_zeros, count, dtype);
}
inline Buffer full(std::uint64_t count, double value, tl_dtype dtype) {
  return detail::result(tl_full, count, value, dtype);
}
inline Buffer zeros_like(const Buffer &reference, std::uint64_t count) {
  return detail::result(tl_zeros_like, reference.get(), count);
}
inline Buffer copy(const Buffer &x) { return detail::result(tl_copy, x.get()); }
inline std::pair<Buffer, Buffer> duplicate(const Buffer &x) {
  tl_buffer *first = nullptr;
  tl_buffer *second = nullptr;
  check(tl_duplicate(x.get(), &first, &second));
  return {Buffer(first), Buffer(second)};
}

// Words of kind `source`, converted to `dtype` if they differ.
inline Buffer upload_words(std::span<const std::byte> words, tl_dtype source, tl_dtype dtype) {
  return detail::result(tl_upload, words.data(), std::uint64_t{words.size()}, source, dtype);
}
inline Buffer upload(std::span<const float> values, tl_dtype dtype = TL_FLOAT32) {
  return upload_words(std::as_bytes(values), TL_FLOAT32, dtype);
}
inline Buffer upload(std::span<const double> values, tl_dtype dtype = TL_FLOAT64) {
  return upload_words(std::as_bytes(values), TL_FLOAT64, dtype);
}
// All elements, converted to T (float or double).
template <class T>
std::vector<T> download(const Buffer &x) {
  std::vector<T> values(x.size());
  check(tl_download(x.get(), dtype_of<T>, values.data(), values.size() * sizeof(T)));
  return values;
}
inline Buffer upload_encoded(std::span<const std::byte> words, const tl_format &format) {
  std::uint32_t width = 0;
  check(tl_format_width(&format, &width));
  return detail::result(tl_upload_encoded, words.data(), std::uint64_t{words.size()}, &format,
                        std::uint64_t{width});
}
inline std::vector<std::byte> download_encoded(const Buffer &x) {
  std::uint32_t width = 0;
  check(tl_buffer_width(x.get(), &width));
  std::vector<std::byte> words(x.size() * width);
  check(tl_download_encoded(x.get(), words.data(), words.size()));
  return words;
}

// ---- Random ------------------------------------------------------------------------------------

inline Buffer rand_uniform(std::uint64_t count, std::uint64_t key, tl_dtype dtype) {
  return detail::result(tl_rand_uniform, count, key, dtype);
}
inline Buffer rand_normal(std::uint64_t count, double mean, double std, std::uint64_t key,
                          tl_dtype dtype) {
  return detail::result(tl_rand_normal, count, mean, std, key, dtype);
}
inline Buffer bernoulli_mask(std::uint64_t count, double keep_probability, std::uint64_t key,
                             tl_dtype dtype) {
  return detail::result(tl_bernoulli_mask, count, keep_probability, key, dtype);
}

// ---- Elementwise -------------------------------------------------------------------------------

inline Buffer unary(tl_unary_op op, const Buffer &x) {
  return detail::result(tl_unary, op, x.get());
}
inline Buffer abs(const Buffer &x) { return unary(TL_UNARY_ABS, x); }
inline Buffer neg(const Buffer &x) { return unary(TL_UNARY_NEG, x); }
inline Buffer floor(const Buffer &x) { return unary(TL_UNARY_FLOOR, x); }
inline Buffer sqrt(const Buffer &x) { return unary(TL_UNARY_SQRT, x); }
inline Buffer inv(const Buffer &x) { return unary(TL_UNARY_INV, x); }
inline Buffer relu(const Buffer &x) { return unary(TL_UNARY_RELU, x); }
inline Buffer exp(const Buffer &x) { return unary(TL_UNARY_EXP, x); }
inline Buffer log(const Buffer &x) { return unary(TL_UNARY_LOG, x); }
inline Buffer log1p(const Buffer &x) { return unary(TL_UNARY_LOG1P, x); }
inline Buffer sin(const Buffer &x) { return unary(TL_UNARY_SIN, x); }
inline Buffer cos(const Buffer &x) { return unary(TL_UNARY_COS, x); }
inline Buffer tanh(const Buffer &x) { return unary(TL_UNARY_TANH, x); }
inline Buffer sigmoid(const Buffer &x) { return unary(TL_UNARY_SIGMOID, x); }
inline Buffer gelu(const Buffer &x) { return unary(TL_UNARY_GELU, x); }
inline Buffer scale(const Buffer &x, double factor) {
  return detail::result(tl_scale, x.get(), factor);
}
inline Buffer clamp(const Buffer &x, double lo, double hi) {
  return detail::result(tl_clamp, x.get(), lo, hi);
}

inline Buffer binary(tl_binary_op op, const Buffer &a, const Buffer &b) {
  return detail::result(tl_binary, op, a.get(), b.get());
}
inline Buffer add(const Buffer &a, const Buffer &b) { return binary(TL_BINARY_ADD, a, b); }
inline Buffer sub(const Buffer &a, const Buffer &b) { return binary(TL_BINARY_SUB, a, b); }
inline Buffer mul(const Buffer &a, const Buffer &b) { return binary(TL_BINARY_MUL, a, b); }
inline Buffer div(const Buffer &a, const Buffer &b) { return binary(TL_BINARY_DIV, a, b); }
inline Buffer max(const Buffer &a, const Buffer &b) { return binary(TL_BINARY_MAX, a, b); }
inline Buffer min(const Buffer &a, const Buffer &b) { return binary(TL_BINARY_MIN, a, b); }
// values where allowed is not zero, else +0.
inline Buffer mask(const Buffer &values, const Buffer &allowed) {
  return binary(TL_BINARY_MASK, values, allowed);
}
// fma(b, factor, a)
inline Buffer axpy(const Buffer &a, const Buffer &b, double factor) {
  return detail::result(tl_axpy, a.get(), b.get(), factor);
}
// exp((x * factor) * y)
inline Buffer scaled_prod_exp(const Buffer &x, const Buffer &y, double factor) {
  return detail::result(tl_scaled_prod_exp, x.get(), y.get(), factor);
}

// Gradients with respect to the operand x of the forward operation; `gradient` is that of its
// result.
inline Buffer abs_bwd(const Buffer &x, const Buffer &gradient) {
  return binary(TL_BINARY_ABS_BWD, x, gradient);
}
inline Buffer sqrt_bwd(const Buffer &x, const Buffer &gradient) {
  return binary(TL_BINARY_SQRT_BWD, x, gradient);
}
inline Buffer relu_bwd(const Buffer &x, const Buffer &gradient) {
  return binary(TL_BINARY_RELU_BWD, x, gradient);
}
inline Buffer gelu_bwd(const Buffer &x, const Buffer &gradient) {
  return binary(TL_BINARY_GELU_BWD, x, gradient);
}
inline Buffer clamp_bwd(const Buffer &x, const Buffer &gradient, double lo, double hi) {
  return detail::result(tl_clamp_bwd, x.get(), gradient.get(), lo, hi);
}

struct PairGradients {
  Buffer a;
  Buffer b;
};
inline PairGradients select_bwd(tl_select_bwd_op op, const Buffer &a, const Buffer &b,
                                const Buffer &gradient) {
  tl_buffer *da = nullptr;
  tl_buffer *db = nullptr;
  check(tl_select_bwd(op, a.get(), b.get(), gradient.get(), &da, &db));
  return {Buffer(da), Buffer(db)};
}
inline PairGradients max_bwd(const Buffer &a, const Buffer &b, const Buffer &gradient) {
  return select_bwd(TL_SELECT_MAX_BWD, a, b, gradient);
}
inline PairGradients min_bwd(const Buffer &a, const Buffer &b, const Buffer &gradient) {
  return select_bwd(TL_SELECT_MIN_BWD, a, b, gradient);
}

// ---- Optimizer ---------------------------------------------------------------------------------

struct AdamState {
  Buffer parameters;
  Buffer first_moment;
  Buffer second_moment;
};
// One step of Adam or AdamW; struct_size of the scalars is filled in here.
inline AdamState adam_step(const AdamState &state, const Buffer &gradient,
                           tl_adam_scalars scalars) {
  scalars.struct_size = sizeof scalars;
  tl_buffer *parameters = nullptr;
  tl_buffer *first_moment = nullptr;
  tl_buffer *second_moment = nullptr;
  check(tl_adam_step(state.parameters.get(), gradient.get(), state.first_moment.get(),
                     state.second_moment.get(), &scalars, &parameters, &first_moment,
                     &second_moment));
  return {Buffer(parameters), Buffer(first_moment), Buffer(second_moment)};
}

// ---- Reductions --------------------------------------------------------------------------------

inline Buffer reduce_sum(const Buffer &x) { return detail::result(tl_reduce_sum, x.get()); }
inline Buffer reduce_mean(const Buffer &x) { return detail::result(tl_reduce_mean, x.get()); }
inline Buffer reduce_sum_by_row(const Buffer &x, std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_reduce_sum_by_row, x.get(), rows, cols);
}
inline Buffer reduce_sum_axis(const Buffer &x, List dims, std::uint64_t axis) {
  return detail::result(tl_reduce_sum_axis, x.get(), dims.data(), dims.size(), axis);
}
// The adjoint of broadcast_to with the same lists.
inline Buffer reduce_from_broadcast(const Buffer &d_out, List in_dims, List out_dims,
                                    List axis_map) {
  return detail::result(tl_reduce_from_broadcast, d_out.get(), in_dims.data(), in_dims.size(),
                        out_dims.data(), out_dims.size(), axis_map.data(), axis_map.size());
}
inline Buffer reduce_max_by_row(const Buffer &x, std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_reduce_max_by_row, x.get(), rows, cols);
}
inline Buffer reduce_max_by_column(const Buffer &x, std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_reduce_max_by_column, x.get(), rows, cols);
}
inline Buffer first_max_mask_by_row(const Buffer &x, std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_first_max_mask_by_row, x.get(), rows, cols);
}
inline Buffer top_k_mask_by_row(const Buffer &x, std::uint64_t rows, std::uint64_t cols,
                                std::uint64_t k) {
  return detail::result(tl_top_k_mask_by_row, x.get(), rows, cols, k);
}

// ---- Views -------------------------------------------------------------------------------------

inline Buffer concat(const Buffer &a, const Buffer &b) {
  return detail::result(tl_concat1d, a.get(), b.get(), a.size(), b.size());
}
inline Buffer slice(const Buffer &x, std::uint64_t start, std::uint64_t length) {
  return detail::result(tl_slice1d, x.get(), x.size(), start, length);
}
inline Buffer broadcast_vec_to_cols(const Buffer &vec, std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_broadcast_vec_to_cols, vec.get(), rows, cols);
}
// axis_map: one entry per output axis, 0 = a new axis, a + 1 = it reads input axis a.
inline Buffer broadcast_to(const Buffer &x, List in_dims, List out_dims, List axis_map) {
  return detail::result(tl_broadcast_to, x.get(), in_dims.data(), in_dims.size(), out_dims.data(),
                        out_dims.size(), axis_map.data(), axis_map.size());
}
inline Buffer swap_adjacent_at_depth(const Buffer &x, List dims, std::uint64_t depth) {
  return detail::result(tl_swap_adjacent_at_depth, x.get(), dims.data(), dims.size(), depth);
}

// ---- Indexing ----------------------------------------------------------------------------------

using Indices = std::span<const std::uint32_t>;  // row numbers

// mat is (rows, cols); an index beyond rows gives a row of zeros.
inline Buffer gather_rows(const Buffer &mat, std::uint64_t rows, std::uint64_t cols,
                          Indices indices) {
  return detail::result(tl_gather_rows, mat.get(), rows, cols, indices.data(), indices.size(),
                        std::uint64_t{indices.size()});
}
// values has one element per index, or one row; an index out of range is ignored.
inline Buffer scatter_add(const Buffer &x, const Buffer &values, Indices indices) {
  return detail::result(tl_scatter_add, x.get(), values.get(), x.size(), indices.data(),
                        indices.size(), std::uint64_t{indices.size()});
}
inline Buffer scatter_add_rows(const Buffer &mat, const Buffer &values, std::uint64_t rows,
                               std::uint64_t cols, Indices indices) {
  return detail::result(tl_scatter_add_rows, mat.get(), values.get(), rows, cols, indices.data(),
                        indices.size(), std::uint64_t{indices.size()});
}

// ---- Matrix products ---------------------------------------------------------------------------

// Logical shapes of a batch of products (m, n) x (n, p), and which operands are stored transposed.
struct MatmulShape {
  std::uint64_t batch = 1;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t p = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};
inline Buffer bmm(const Buffer &a, const Buffer &b, const MatmulShape &shape) {
  return detail::result(tl_bmm_with_transpose, a.get(), b.get(), shape.batch, shape.m, shape.n,
                        shape.p, std::uint32_t{shape.transpose_a},
                        std::uint32_t{shape.transpose_b});
}

struct ScaledProduct {
  Buffer values;
  bool replay;  // the values are unspecified: compute from the operands another way
};
inline ScaledProduct bmm_scaled(const Buffer &a, const Buffer &b, const MatmulShape &shape,
                                double scale) {
  tl_buffer *values = nullptr;
  std::uint32_t replay = 0;
  check(tl_bmm_scaled(a.get(), b.get(), shape.batch, shape.m, shape.n, shape.p,
                      std::uint32_t{shape.transpose_a}, std::uint32_t{shape.transpose_b}, scale,
                      &values, &replay));
  return {Buffer(values), replay != 0};
}

// Host matrices (m, n) x (n, p), computed on the backend's device.
inline std::vector<double> dgemm(std::span<const double> a, std::span<const double> b,
                                 std::uint64_t m, std::uint64_t n, std::uint64_t p) {
  std::vector<double> out(m * p);
  check(tl_dgemm(a.data(), a.size(), b.data(), b.size(), m, n, p, out.data(), out.size()));
  return out;
}

// ---- Normalization -----------------------------------------------------------------------------

inline Buffer softmax(const Buffer &x, List dims, std::uint64_t axis) {
  return detail::result(tl_softmax, x.get(), dims.data(), dims.size(), axis);
}
inline Buffer hard_masked_softmax_by_row(const Buffer &scores, const Buffer &mask,
                                         std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_hard_masked_softmax_by_row, scores.get(), mask.get(), rows, cols);
}

struct LayerNorm {
  Buffer out;
  Buffer normalized;
  Buffer inv_std;
};
inline LayerNorm layer_norm_fwd(const Buffer &x, const Buffer &gamma, const Buffer &beta,
                                std::uint64_t rows, std::uint64_t cols, double epsilon) {
  tl_buffer *out = nullptr;
  tl_buffer *normalized = nullptr;
  tl_buffer *inv_std = nullptr;
  check(tl_layer_norm_fwd(x.get(), gamma.get(), beta.get(), rows, cols, epsilon, &out, &normalized,
                          &inv_std));
  return {Buffer(out), Buffer(normalized), Buffer(inv_std)};
}

struct LayerNormGradients {
  Buffer x;
  Buffer gamma;
  Buffer beta;
};
// `forward` is what layer_norm_fwd returned; its `out` is not looked at.
inline LayerNormGradients layer_norm_bwd(const Buffer &d_out, const LayerNorm &forward,
                                         const Buffer &gamma, std::uint64_t rows,
                                         std::uint64_t cols) {
  const auto scale = static_cast<double>(cols);
  tl_buffer *dx = nullptr;
  tl_buffer *dgamma = nullptr;
  tl_buffer *dbeta = nullptr;
  check(tl_layer_norm_bwd(d_out.get(), forward.normalized.get(), forward.inv_std.get(), gamma.get(),
                          rows, cols, scale, 1.0 / scale, &dx, &dgamma, &dbeta));
  return {Buffer(dx), Buffer(dgamma), Buffer(dbeta)};
}

// ---- Losses ------------------------------------------------------------------------------------

inline Buffer cross_entropy(const Buffer &logits, const Buffer &weights, std::uint64_t rows,
                            std::uint64_t cols) {
  return detail::result(tl_cross_entropy, logits.get(), weights.get(), rows, cols);
}
inline Buffer distillation(const Buffer &student, const Buffer &teacher, std::uint64_t rows,
                           std::uint64_t cols) {
  return detail::result(tl_distillation, student.get(), teacher.get(), rows, cols, 0U);
}
inline Buffer distillation_gradient(const Buffer &student, const Buffer &teacher,
                                    std::uint64_t rows, std::uint64_t cols) {
  return detail::result(tl_distillation, student.get(), teacher.get(), rows, cols, 1U);
}

// ---- Fourier -----------------------------------------------------------------------------------

inline Buffer rfft1d_packed(const Buffer &x, std::uint64_t batch, std::uint64_t n) {
  return detail::result(tl_rfft1d_packed, x.get(), batch, n);
}
inline Buffer irfft1d_packed(const Buffer &spec, std::uint64_t batch, std::uint64_t n) {
  return detail::result(tl_irfft1d_packed, spec.get(), batch, n);
}
inline Buffer irfft1d_packed_unnormalized(const Buffer &spec, std::uint64_t batch,
                                          std::uint64_t n) {
  return detail::result(tl_irfft1d_packed_unnormalized, spec.get(), batch, n);
}

// ---- Scans -------------------------------------------------------------------------------------

inline Buffer selective_scan_diag_fwd(const Buffer &a, const Buffer &b, const Buffer &x,
                                      const Buffer &h0, std::uint64_t seq_len,
                                      std::uint64_t state) {
  return detail::result(tl_selective_scan_diag_fwd, a.get(), b.get(), x.get(), h0.get(), seq_len,
                        state);
}
// Coefficients per step and state.
inline Buffer selective_scan_diag_var_fwd(const Buffer &a, const Buffer &b, const Buffer &x,
                                          const Buffer &h0, std::uint64_t seq_len,
                                          std::uint64_t state) {
  return detail::result(tl_selective_scan_diag_var_fwd, a.get(), b.get(), x.get(), h0.get(),
                        seq_len, state);
}

struct ScanGradients {
  Buffer a;
  Buffer b;
  Buffer x;
  Buffer h0;
};
namespace detail {
template <class Function>
ScanGradients scan_gradients(Function function, const Buffer &a, const Buffer &b, const Buffer &x,
                             const Buffer &h0, const Buffer &h, const Buffer &d_y,
                             std::uint64_t seq_len, std::uint64_t state) {
  tl_buffer *da = nullptr;
  tl_buffer *db = nullptr;
  tl_buffer *dx = nullptr;
  tl_buffer *dh0 = nullptr;
  check(function(a.get(), b.get(), x.get(), h0.get(), h.get(), d_y.get(), seq_len, state, &da, &db,
                 &dx, &dh0));
  return {Buffer(da), Buffer(db), Buffer(dx), Buffer(dh0)};
}
}  // namespace detail
// h is the forward result, d_y its gradient.
inline ScanGradients selective_scan_diag_bwd(const Buffer &a, const Buffer &b, const Buffer &x,
                                             const Buffer &h0, const Buffer &h, const Buffer &d_y,
                                             std::uint64_t seq_len, std::uint64_t state) {
  return detail::scan_gradients(tl_selective_scan_diag_bwd, a, b, x, h0, h, d_y, seq_len, state);
}
inline ScanGradients selective_scan_diag_var_bwd(const Buffer &a, const Buffer &b, const Buffer &x,
                                                 const Buffer &h0, const Buffer &h,
                                                 const Buffer &d_y, std::uint64_t seq_len,
                                                 std::uint64_t state) {
  return detail::scan_gradients(tl_selective_scan_diag_var_bwd, a, b, x, h0, h, d_y, seq_len,
                                state);
}

// ---- Convolutions and pools --------------------------------------------------------------------

// The lists of conv; all but the first two have one entry per spatial axis.
struct ConvolutionLists {
  std::vector<std::uint64_t> input_dims;   // (leading..., inC, spatial...)
  std::vector<std::uint64_t> kernel_dims;  // (outC, inC, spatial...)
  std::vector<std::uint64_t> strides;
  std::vector<std::uint64_t> padding_before;
  std::vector<std::uint64_t> padding_after;
  std::vector<std::uint64_t> dilations;
};
// Windows over one sample: lists with one entry per spatial axis.
struct Windows {
  std::vector<std::uint64_t> in_spatial;
  std::vector<std::uint64_t> kernel;
  std::vector<std::uint64_t> stride;
  std::vector<std::uint64_t> padding;
};
namespace detail {
inline tl_list list(const std::vector<std::uint64_t> &values) {
  return {values.data(), values.size()};
}
}  // namespace detail

inline Buffer conv(const Buffer &input, const Buffer &kernel, const Buffer &bias,
                   const ConvolutionLists &lists, std::uint64_t groups = 1) {
  const tl_conv_lists given = {.struct_size = sizeof given,
                               .input_dims = detail::list(lists.input_dims),
                               .kernel_dims = detail::list(lists.kernel_dims),
                               .strides = detail::list(lists.strides),
                               .padding_before = detail::list(lists.padding_before),
                               .padding_after = detail::list(lists.padding_after),
                               .dilations = detail::list(lists.dilations)};
  return detail::result(tl_conv, input.get(), kernel.get(), bias.get(), &given, groups);
}

struct Channels {
  std::uint64_t in;
  std::uint64_t out;
};
inline Buffer conv_fwd(const Buffer &input, const Buffer &kernel, const Buffer &bias,
                       const Windows &windows, Channels channels) {
  return detail::result(tl_conv_fwd, input.get(), kernel.get(), bias.get(),
                        detail::list(windows.in_spatial), detail::list(windows.kernel),
                        detail::list(windows.stride), detail::list(windows.padding), channels.in,
                        channels.out);
}
// The kernel is (inC, outC, spatial...).
inline Buffer convtranspose_fwd(const Buffer &input, const Buffer &kernel, const Buffer &bias,
                                const Windows &windows, Channels channels) {
  return detail::result(tl_convtranspose_fwd, input.get(), kernel.get(), bias.get(),
                        detail::list(windows.in_spatial), detail::list(windows.kernel),
                        detail::list(windows.stride), detail::list(windows.padding), channels.in,
                        channels.out);
}

struct ConvolutionGradients {
  Buffer kernel;
  Buffer bias;
  Buffer input;
};
namespace detail {
template <class Function>
ConvolutionGradients convolution_gradients(Function function, const Buffer &input,
                                           const Buffer &kernel, const Buffer &grad,
                                           const Windows &windows, Channels channels) {
  tl_buffer *dkernel = nullptr;
  tl_buffer *dbias = nullptr;
  tl_buffer *dinput = nullptr;
  check(function(input.get(), kernel.get(), grad.get(), list(windows.in_spatial),
                 list(windows.kernel), list(windows.stride), list(windows.padding), channels.in,
                 channels.out, &dkernel, &dbias, &dinput));
  return {Buffer(dkernel), Buffer(dbias), Buffer(dinput)};
}
}  // namespace detail
inline ConvolutionGradients conv_bwd(const Buffer &input, const Buffer &kernel, const Buffer &grad,
                                     const Windows &windows, Channels channels) {
  return detail::convolution_gradients(tl_conv_bwd, input, kernel, grad, windows, channels);
}
inline ConvolutionGradients convtranspose_bwd(const Buffer &input, const Buffer &kernel,
                                              const Buffer &grad, const Windows &windows,
                                              Channels channels) {
  return detail::convolution_gradients(tl_convtranspose_bwd, input, kernel, grad, windows,
                                       channels);
}

inline Buffer maxpool_fwd(const Buffer &input, const Windows &windows, std::uint64_t channels) {
  return detail::result(tl_maxpool_fwd, input.get(), detail::list(windows.in_spatial),
                        detail::list(windows.kernel), detail::list(windows.stride),
                        detail::list(windows.padding), channels);
}
inline Buffer maxpool_bwd(const Buffer &input, const Buffer &grad, const Windows &windows,
                          std::uint64_t channels) {
  return detail::result(tl_maxpool_bwd, input.get(), grad.get(), detail::list(windows.in_spatial),
                        detail::list(windows.kernel), detail::list(windows.stride),
                        detail::list(windows.padding), channels);
}
inline Buffer avgpool_fwd(const Buffer &input, const Windows &windows, std::uint64_t channels) {
  return detail::result(tl_avgpool_fwd, input.get(), detail::list(windows.in_spatial),
                        detail::list(windows.kernel), detail::list(windows.stride),
                        detail::list(windows.padding), channels);
}
inline Buffer avgpool_bwd(const Buffer &grad, const Windows &windows, std::uint64_t channels) {
  return detail::result(tl_avgpool_bwd, grad.get(), detail::list(windows.in_spatial),
                        detail::list(windows.kernel), detail::list(windows.stride),
                        detail::list(windows.padding), channels);
}
inline Buffer smooth_maxpool_fwd(const Buffer &input, double beta, const Windows &windows,
                                 std::uint64_t channels) {
  return detail::result(tl_smooth_maxpool_fwd, input.get(), beta, detail::list(windows.in_spatial),
                        detail::list(windows.kernel), detail::list(windows.stride),
                        detail::list(windows.padding), channels);
}
inline Buffer smooth_maxpool_bwd(const Buffer &input, const Buffer &grad, double beta,
                                 const Windows &windows, std::uint64_t channels) {
  return detail::result(tl_smooth_maxpool_bwd, input.get(), grad.get(), beta,
                        detail::list(windows.in_spatial), detail::list(windows.kernel),
                        detail::list(windows.stride), detail::list(windows.padding), channels);
}

// ---- Several backends in one process -----------------------------------------------------------

struct BackendInfo {
  std::string name;
  std::string version;
  std::string library;  // what it computes with
  std::string path;     // of its file; empty for the null backend
  std::string device;   // name of the selected device
};
inline BackendInfo backend_info(tl_backend *backend = nullptr) {
  tl_backend_info info{};
  info.struct_size = sizeof info;
  check(tl_get_backend_info(backend, &info));
  return {info.name, info.version, info.library, info.path, info.device};
}
inline bool supports(tl_operation operation, tl_dtype dtype, tl_backend *backend = nullptr) {
  return tl_supports(backend, operation, dtype) == TL_OK;
}

// A backend opened beside the one that serves the process. Its buffers may outlive it.
class Backend {
 public:
  // A name or an absolute path; the device as in TORCHLEAN_DEVICE, empty for the backend's own
  // choice.
  explicit Backend(const std::string &name_or_path, const std::string &device = "") {
    check(tl_backend_open(name_or_path.c_str(), device.c_str(), &handle_));
  }
  Backend(Backend &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Backend &operator=(Backend &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Backend(const Backend &) = delete;
  Backend &operator=(const Backend &) = delete;
  ~Backend() { tl_backend_close(handle_); }

  tl_backend *get() const noexcept { return handle_; }
  BackendInfo info() const { return backend_info(handle_); }
  bool supports(tl_operation operation, tl_dtype dtype) const {
    return torchlean::supports(operation, dtype, handle_);
  }

 private:
  tl_backend *handle_ = nullptr;
};

// While it lives, this thread's results are created on the given backend.
class ThreadBackend {
 public:
  explicit ThreadBackend(const Backend &backend) : former_(tl_set_thread_backend(backend.get())) {}
  ThreadBackend(const ThreadBackend &) = delete;
  ThreadBackend &operator=(const ThreadBackend &) = delete;
  ~ThreadBackend() { tl_set_thread_backend(former_); }

 private:
  tl_backend *former_;
};

// ---- Status ------------------------------------------------------------------------------------
// The structures of runtime.h, filled. Their texts live as long as the process.

inline void start() { check(tl_start()); }

inline tl_runtime_info runtime_info() {
  tl_runtime_info info{};
  info.struct_size = sizeof info;
  check(tl_get_runtime_info(&info));
  return info;
}

// Records of everything that was looked at, oldest first.
inline std::vector<tl_attempt> attempts() {
  std::vector<tl_attempt> records(tl_attempt_count());
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].struct_size = sizeof(tl_attempt);
    check(tl_get_attempt(i, &records[i]));
  }
  return records;
}

// The environment variables that are understood. Opens no backend.
inline std::vector<tl_variable> variables() {
  std::vector<tl_variable> table(tl_variable_count());
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i].struct_size = sizeof(tl_variable);
    check(tl_get_variable(i, &table[i]));
  }
  return table;
}

// The operation table; the index is the tl_operation. Opens no backend.
inline std::vector<tl_operation_info> operations() {
  std::vector<tl_operation_info> table(TL_OP_COUNT);
  for (tl_operation i = 0; i < TL_OP_COUNT; ++i) {
    table[i].struct_size = sizeof(tl_operation_info);
    check(tl_get_operation(i, &table[i]));
  }
  return table;
}

// ---- Device, settings, figures (of the thread's current backend) -------------------------------

struct DeviceInfo {
  std::string name;
  bool is_cuda;
  std::uint32_t capability;  // 10 * major + minor on CUDA, 0 on a host
  std::uint64_t total_bytes;
};
inline DeviceInfo device_info(std::uint32_t index) {
  tl_device_info info{};
  info.struct_size = sizeof info;
  check(tl_get_device_info(index, &info));
  return {info.name, info.is_cuda != 0, info.capability, info.total_bytes};
}
inline std::uint32_t device_count() {
  std::uint32_t count = 0;
  check(tl_device_count(&count));
  return count;
}
inline std::uint32_t device_index() {
  std::uint32_t index = 0;
  check(tl_get_device(&index));
  return index;
}
inline void synchronize() { check(tl_synchronize()); }

inline bool setting(tl_setting which) {
  std::uint32_t value = 0;
  check(tl_get_setting(which, &value));
  return value != 0;
}
// Returns the value before.
inline bool set_setting(tl_setting which, bool enabled) {
  std::uint32_t former = 0;
  check(tl_set_setting(which, enabled ? 1 : 0, &former));
  return former != 0;
}
inline std::uint32_t num_threads() {
  std::uint32_t threads = 0;
  check(tl_get_num_threads(&threads));
  return threads;
}
inline void set_num_threads(std::uint32_t threads) { check(tl_set_num_threads(threads)); }

inline tl_counters counters() {
  tl_counters figures{};
  figures.struct_size = sizeof figures;
  check(tl_get_counters(&figures));
  return figures;
}
inline tl_memory_figures memory_figures() {
  tl_memory_figures figures{};
  figures.struct_size = sizeof figures;
  check(tl_get_memory_figures(&figures));
  return figures;
}

}  // namespace torchlean
