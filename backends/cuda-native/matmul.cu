// Matrix products: the library's; scaled ones with an honest flag.
#include "arguments.hpp"
#include "arithmetic.cuh"
#include "block.cuh"
#include "instance.hpp"
#include "libraries.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace torchlean::cuda {

namespace {

// ---- Products -----------------------------------------------------------------------------------

tl_bmm_params checked(const char *operation, const tl_bmm_params *given, const tl_operand &a,
                      const tl_operand &b, tl_dtype dtype) {
  check_operand(operation, "a", a, dtype, a.count);
  check_operand(operation, "b", b, dtype, b.count);
  return known_bmm(operation, *given, a.count, b.count);
}

// c = a b. The library stores by columns, so it sees transposes: c^T = b^T a^T.
template <class T>
void multiply(tl_instance &instance, const char *operation, const tl_bmm_params &shape, const T *a,
              const T *b, T *c, bool tf32) {
  device::Stream &stream = *instance.stream;
  if (shape.n == 0) {
    device::clear(stream, operation, c, shape.batch * shape.m * shape.p * sizeof(T));
    return;
  }
  device::multiply<T>(stream, operation,
                      {.batch = shape.batch,
                       .rows = shape.p,
                       .columns = shape.m,
                       .terms = shape.n,
                       .a = b,
                       .transpose_a = shape.transpose_b != 0,
                       .b = a,
                       .transpose_b = shape.transpose_a != 0,
                       .c = c},
                      tf32);
}

void bmm(tl_instance *instance, const tl_operand *a, const tl_operand *b,
         const tl_bmm_params *params, tl_flags, tl_storage **out) {
  constexpr const char *operation = "bmm_with_transpose";
  with_native(operation, a->dtype, [&]<class T>() {
    const tl_bmm_params shape = checked(operation, params, *a, *b, native_dtype<T>);
    Result c(*instance, operation, product({shape.batch, shape.m, shape.p}), sizeof(T));
    multiply(*instance, operation, shape, elements<T>(*a), elements<T>(*b), c.elements<T>(),
             instance->tf32_products);
    *out = c.hand_over();
  });
}

// Host arrays. Those of no element may be NULL.
void dgemm(tl_instance *instance, const double *a, const double *b, uint64_t m, uint64_t n,
           uint64_t p, double *out) {
  constexpr const char *operation = "dgemm";
  expect_given("instance", instance);
  expect_given("out", out);
  if (n == 0) {
    std::fill_n(out, m * p, 0.0);
    return;
  }
  expect_given("a", a);
  expect_given("b", b);
  device::Stream &stream = *instance->stream;
  const auto upload = [&](const double *from, uint64_t count) {
    Result to(*instance, operation, count, sizeof(double));
    device::copy_to_device(stream, operation, to.elements<double>(), from, count * sizeof(double));
    return to;
  };
  const Result left = upload(a, product({m, n}));
  const Result right = upload(b, product({n, p}));
  const Result c(*instance, operation, product({m, p}), sizeof(double));
  multiply<double>(*instance, operation, {sizeof(tl_bmm_params), 1, m, n, p, 0, 0},
                   left.elements<double>(), right.elements<double>(), c.elements<double>(), false);
  device::copy_to_host(stream, operation, out, c.elements<double>(), m * p * sizeof(double));
}

// ---- Scaled products ----------------------------------------------------------------------------
// The flag is 0 only if the error bound is certain: all values finite, no operand or product lost
// in the subnormal range, no sum near overflow. It is decided from surveys of the scaled operands
// and of the products, which one wait brings to the host.

// What is known of an array, in bits of magnitudes, which order as the magnitudes do; NaN is last.
struct Survey {
  unsigned long long largest;
  unsigned long long complement_of_smallest;  // of the smallest but zeros; 0 where there is none
  unsigned long long lost;  // 1: an element is zero or subnormal though its source is not zero
};

template <class T>
__device__ void note(Survey &survey, T value) {
  const unsigned long long magnitude = bits_of(absolute(value));
  survey.largest = magnitude > survey.largest ? magnitude : survey.largest;
  if (magnitude != 0 && ~magnitude > survey.complement_of_smallest) {
    survey.complement_of_smallest = ~magnitude;
  }
}

struct Both {
  __device__ Survey operator()(const Survey &a, const Survey &b) const {
    return {a.largest > b.largest ? a.largest : b.largest,
            a.complement_of_smallest > b.complement_of_smallest ? a.complement_of_smallest
                                                                : b.complement_of_smallest,
            a.lost | b.lost};
  }
};

// Every thread of the block calls it.
__device__ inline void add_to(Survey *total, const Survey &mine) {
  const Survey block = block_reduce(mine, Both());
  if (threadIdx.x == 0) {
    atomicMax(&total->largest, block.largest);
    atomicMax(&total->complement_of_smallest, block.complement_of_smallest);
    atomicOr(&total->lost, block.lost);
  }
}

// out = x * factor; without an `out` x itself is looked at.
template <class T>
__global__ void scale_kernel(uint64_t n, T *out, const T *x, T factor, T least_normal,
                             Survey *total) {
  Survey mine{};
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const T value = out == nullptr ? x[i] : mul_rn(x[i], factor);
    note(mine, value);
    if (absolute(value) < least_normal && x[i] != T(0)) {
      mine.lost = 1;
    }
    if (out != nullptr) {
      out[i] = value;
    }
  }
  add_to(total, mine);
}

// Is a term of element i of the result not zero?
template <class T>
__device__ bool has_term(uint64_t i, const tl_bmm_params &shape, const T *a, const T *b) {
  const uint64_t column = i % shape.p;
  const uint64_t row = i / shape.p % shape.m;
  const uint64_t s = i / shape.p / shape.m;
  for (uint64_t k = 0; k < shape.n; ++k) {
    const T left = a[shape.transpose_a != 0 ? (s * shape.n + k) * shape.m + row
                                            : (s * shape.m + row) * shape.n + k];
    const T right = b[shape.transpose_b != 0 ? (s * shape.p + column) * shape.n + k
                                             : (s * shape.n + k) * shape.p + column];
    if (left != T(0) && right != T(0)) {
      return true;
    }
  }
  return false;
}

// c = c * factor, |factor| >= 1. A product below the normal range has lost what its terms were.
template <class T>
__global__ void product_kernel(uint64_t n, T *c, T factor, T least_normal, tl_bmm_params shape,
                               const T *a, const T *b, Survey *total) {
  Survey mine{};
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const T product = c[i];
    const T value = mul_rn(product, factor);
    note(mine, value);
    if (absolute(product) < least_normal && has_term(i, shape, a, b)) {
      mine.lost = 1;
    }
    c[i] = value;
  }
  add_to(total, mine);
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;

template <class T>
bool is_finite(const Survey &survey) {
  return survey.largest < std::bit_cast<Bits<T>>(std::numeric_limits<T>::infinity());
}

template <class T>
double largest(const Survey &survey) {
  return static_cast<double>(std::bit_cast<T>(static_cast<Bits<T>>(survey.largest)));
}

template <class T>
double smallest(const Survey &survey) {
  return static_cast<double>(
      std::bit_cast<T>(static_cast<Bits<T>>(~survey.complement_of_smallest)));
}

// Do all products and sums of products stay in the normal range, with a factor of 2 to spare?
template <class T>
bool products_are_normal(const Survey &a, const Survey &b, uint64_t n, double growth) {
  if (a.largest == 0 || b.largest == 0) {
    return true;
  }
  return largest<T>(a) * largest<T>(b) * static_cast<double>(n) * growth <=
             static_cast<double>(std::numeric_limits<T>::max()) / 2 &&
         smallest<T>(a) * smallest<T>(b) >= 2 * static_cast<double>(std::numeric_limits<T>::min());
}

template <class T>
void scaled_product(tl_instance &instance, const char *operation, const tl_bmm_params &shape,
                    const tl_operand &a, const tl_operand &b, double scale, T *c, bool &replay) {
  constexpr T least_normal = std::numeric_limits<T>::min();
  device::Stream &stream = *instance.stream;
  // For |scale| <= 1 both operands take its root, so that a product that would overflow before it
  // is scaled does not: (a r) (b sign(s) r).
  const bool before = std::fabs(scale) <= 1;
  const T root = static_cast<T>(std::sqrt(std::fabs(scale)));
  const T factor = static_cast<T>(scale);

  enum { in_a, in_b, in_c, surveys };
  const Result totals(instance, operation, surveys, sizeof(Survey));
  device::clear(stream, operation, totals.elements<void>(), surveys * sizeof(Survey));
  // Four elements for each thread at least: putting a block's surveys together takes as long.
  const auto grid = [&](uint64_t n) {
    constexpr uint32_t threads = 256;
    return Blocks{blocks_for(stream, (n + 4 * threads - 1) / (4 * threads)), threads};
  };

  // What is multiplied: x itself, or a scaled copy that `copy` keeps.
  const auto surveyed = [&](const tl_operand &x, T times, int which,
                            std::unique_ptr<Result> &copy) {
    if (x.count == 0) {
      return elements<T>(x);
    }
    if (before) {
      copy = std::make_unique<Result>(instance, operation, x.count, sizeof(T));
    }
    T *const to = before ? copy->elements<T>() : nullptr;
    launch_blocks(stream, operation, grid(x.count), &scale_kernel<T>, x.count, to, elements<T>(x),
                  times, least_normal, totals.elements<Survey>() + which);
    return before ? static_cast<const T *>(to) : elements<T>(x);
  };
  std::unique_ptr<Result> copy_of_a;
  std::unique_ptr<Result> copy_of_b;
  const T *const left = surveyed(a, root, in_a, copy_of_a);
  const T *const right = surveyed(b, std::copysign(root, factor), in_b, copy_of_b);

  multiply(instance, operation, shape, left, right, c, false);
  const uint64_t count = shape.batch * shape.m * shape.p;
  launch_blocks(stream, operation, grid(count), &product_kernel<T>, count, c,
                before ? T(1) : factor, least_normal, shape, left, right,
                totals.elements<Survey>() + in_c);

  Survey found[surveys];
  device::copy_to_host(stream, operation, found, totals.elements<void>(), sizeof found);
  const T used = before ? root : factor;
  replay =
      !std::isfinite(used) || (scale != 0 && std::fabs(used) < least_normal) ||
      !products_are_normal<T>(found[in_a], found[in_b], shape.n, before ? 1 : std::fabs(scale));
  for (const Survey &survey : found) {
    replay = replay || !is_finite<T>(survey) || survey.lost != 0;
  }
}

void bmm_scaled(tl_instance *instance, const tl_operand *a, const tl_operand *b,
                const tl_bmm_params *params, double scale, tl_flags, tl_storage **out,
                uint32_t *out_replay) {
  constexpr const char *operation = "bmm_scaled";
  with_native(operation, a->dtype, [&]<class T>() {
    const tl_bmm_params shape = checked(operation, params, *a, *b, native_dtype<T>);
    Result c(*instance, operation, product({shape.batch, shape.m, shape.p}), sizeof(T));
    bool replay = true;
    scaled_product(*instance, operation, shape, *a, *b, scale, c.elements<T>(), replay);
    *out = c.hand_over();
    *out_replay = replay ? 1 : 0;
  });
}

}  // namespace

const tl_matmul_table matmul_table = {
    .struct_size = sizeof(tl_matmul_table),
    .bmm = entry<bmm>,
    .bmm_scaled = entry<bmm_scaled>,
    .dgemm = guarded<&dgemm, &translate>,
};

}  // namespace torchlean::cuda
