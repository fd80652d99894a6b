// Matrix products (gemm.hpp), plain, scaled with an honest flag, and of the host's arrays.
#include "gemm.hpp"
#include "threads.hpp"

#include <torchlean/backend_arguments.hpp>

#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

namespace torchlean::cpu {
namespace {

template <class T>
Product<T> product_of(const tl_bmm_params &shape, const T *a, const T *b) {
  const auto batch = static_cast<int64_t>(shape.batch);
  const auto m = static_cast<int64_t>(shape.m);
  const auto n = static_cast<int64_t>(shape.n);
  const auto p = static_cast<int64_t>(shape.p);
  return {.batch = batch,
          .m = m,
          .n = n,
          .p = p,
          .a = shape.transpose_a == 1 ? Matrix<T>{a, 1, m} : Matrix<T>{a, n, 1},
          .a_batch = m * n,
          .b = shape.transpose_b == 1 ? Matrix<T>{b, 1, n} : Matrix<T>{b, p, 1},
          .b_batch = n * p};
}

void bmm(tl_instance &instance, const tl_operand *first, const tl_operand *second,
         const tl_bmm_params *params, tl_flags, tl_storage **out) {
  expect_given("a", first);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    const tl_bmm_params shape = known_bmm(params, a.size(), b.size());
    Result<T> c(instance, shape.batch * shape.m * shape.p);
    multiply(instance, product_of(shape, a.data(), b.data()), c.begin());
    hand_out(out, c);
  });
}

// ---- bmm_scaled ---------------------------------------------------------------------------------

// y = x * factor, or a look at x where y is NULL.
template <class T>
Survey<T> scale(const tl_instance &instance, const T *x, T factor, uint64_t count, T *y) {
  constexpr uint64_t grain = 1 << 14;
  const GemmKernels<T> &kernels = gemm_kernels<T>(instance.target);
  Survey<T> whole;
  std::mutex mutex;
  parallel_for(instance, count, grain, [&](uint64_t begin, uint64_t end) {
    const Survey<T> part = kernels.scale(x + begin, factor, static_cast<int64_t>(end - begin),
                                         y == nullptr ? nullptr : y + begin);
    const std::lock_guard lock(mutex);
    whole.join(part);
  });
  return whole;
}

// Is an element of c zero or subnormal although its row of a and its column of b are not zero?
template <class T>
bool vanished(const Product<T> &product, const T *c) {
  std::vector<char> row(static_cast<size_t>(product.m));
  std::vector<char> col(static_cast<size_t>(product.p));
  for (int64_t s = 0; s < product.batch; ++s) {
    std::fill(row.begin(), row.end(), 0);
    std::fill(col.begin(), col.end(), 0);
    for (int64_t i = 0; i < product.m; ++i)
      for (int64_t k = 0; k < product.n; ++k)
        if (product.a.at(i, k)[s * product.a_batch] != 0) row[static_cast<size_t>(i)] = 1;
    for (int64_t k = 0; k < product.n; ++k)
      for (int64_t j = 0; j < product.p; ++j)
        if (product.b.at(k, j)[s * product.b_batch] != 0) col[static_cast<size_t>(j)] = 1;
    for (int64_t i = 0; i < product.m; ++i)
      for (int64_t j = 0; j < product.p; ++j)
        if (row[static_cast<size_t>(i)] != 0 && col[static_cast<size_t>(j)] != 0 &&
            std::fabs(c[(s * product.m + i) * product.p + j]) < std::numeric_limits<T>::min())
          return true;
  }
  return false;
}

// Do all products and sums of products stay in the normal range, with a factor of 2 to spare? A
// long double holds them, or becomes infinite or zero, which is no.
template <class T>
bool products_are_normal(const Survey<T> &a, const Survey<T> &b, uint64_t n, double scale) {
  if (a.largest == 0 || b.largest == 0) return true;
  using Wide = long double;
  const Wide growth = std::max(1.0, std::fabs(scale));
  return static_cast<Wide>(n) * Wide{a.largest} * Wide{b.largest} * growth <=
             Wide{std::numeric_limits<T>::max()} / 2 &&
         Wide{a.smallest} * Wide{b.smallest} >= 2 * Wide{std::numeric_limits<T>::min()};
}

// A scale that makes the operands smaller is spread over both, so that a product that overflows
// before it is scaled still comes out finite; any other is multiplied in afterwards.
void bmm_scaled(tl_instance &instance, const tl_operand *first, const tl_operand *second,
                const tl_bmm_params *params, double factor, tl_flags, tl_storage **out,
                uint32_t *out_replay) {
  expect_given("a", first);
  expect_given("out_replay", out_replay);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    const tl_bmm_params shape = known_bmm(params, a.size(), b.size());

    const bool spread = std::fabs(factor) <= 1;
    const T root = static_cast<T>(std::sqrt(std::fabs(factor)));
    const T rounded = static_cast<T>(factor);
    Result<T> x(instance, spread ? a.size() : 0);
    Result<T> y(instance, spread ? b.size() : 0);
    const Survey<T> in_a = scale(instance, a.data(), spread ? root : T(1), a.size(), x.begin());
    const Survey<T> in_b = scale(instance, b.data(), spread ? std::copysign(root, rounded) : T(1),
                                 b.size(), y.begin());

    const Product<T> product =
        product_of<T>(shape, spread ? x.begin() : a.data(), spread ? y.begin() : b.data());
    Result<T> c(instance, shape.batch * shape.m * shape.p);
    multiply(instance, product, c.begin());
    const auto count = static_cast<uint64_t>(c.end() - c.begin());
    const Survey<T> in_products =
        scale(instance, c.begin(), T(1), count, static_cast<T *>(nullptr));
    const bool has_vanished = in_products.tiny && vanished(product, c.begin());
    const Survey<T> in_values =
        spread ? in_products : scale(instance, c.begin(), rounded, count, c.begin());

    const T used = spread ? root : rounded;
    const bool replay = !std::isfinite(used) ||
                        (factor != 0 && std::fabs(used) < std::numeric_limits<T>::min()) ||
                        !in_a.finite || !in_b.finite || !in_products.finite || !in_values.finite ||
                        in_a.lost || in_b.lost || (!spread && in_values.lost) || has_vanished ||
                        !products_are_normal(in_a, in_b, shape.n, spread ? 1.0 : factor);
    hand_out(out, c);
    *out_replay = replay ? 1 : 0;
  });
}

void dgemm(tl_instance &instance, const double *a, const double *b, uint64_t m, uint64_t n,
           uint64_t p, double *out) {
  if (n > 0) {
    expect_given("a", a);
    expect_given("b", b);
  }
  expect_given("out", out);
  multiply(instance, product_of<double>({sizeof(tl_bmm_params), 1, m, n, p, 0, 0}, a, b), out);
}

}  // namespace

const tl_matmul_table matmul_table = {
    .struct_size = sizeof(tl_matmul_table),
    .bmm = entry<"bmm", bmm>,
    .bmm_scaled = entry<"bmm_scaled", bmm_scaled>,
    .dgemm = entry<"dgemm", dgemm>,
};

}  // namespace torchlean::cpu
