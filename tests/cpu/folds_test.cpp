// Sums, softmax, layer norm, scans and masks: the same bits with every target and on any number of
// threads. Sums and maxima of whole numbers: every element, once.
#include "every_target.hpp"
#include "support/oracle.hpp"

#include <functional>
#include <numeric>
#include <random>

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> ordinary(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(count);
  for (T &value : x) value = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-50 - 4);
  return x;
}

// All results of a call, one after the other.
template <class T, class Call>
std::vector<T> joined(Backend &backend, const std::vector<uint64_t> &counts, Call call) {
  std::vector<T> all;
  for (const std::vector<T> &values : results<T>(backend, counts, call))
    all.insert(all.end(), values.begin(), values.end());
  return all;
}

template <class T>
struct Case {
  std::string name;
  std::function<std::vector<T>(Backend &)> run;
};

template <class T>
Case<T> reduction(tl_reduce_op op, uint64_t outer, uint64_t n, uint64_t inner) {
  return {"reduce " + std::to_string(op) + " " + std::to_string(n) + " x " + std::to_string(inner),
          [=, values = ordinary<T>(outer * n * inner, 1)](Backend &b) {
            const Buffer<T> x(b, values);
            return result<T>(b, outer * inner, [&](tl_storage **out) {
              return b.table->reduction->reduce(b.instance, op, x.operand(), outer, n, inner, 0,
                                                out);
            });
          }};
}

template <class T>
Case<T> softmax(uint64_t outer, uint64_t n, uint64_t inner) {
  return {"softmax " + std::to_string(n) + " x " + std::to_string(inner),
          [=, values = ordinary<T>(outer * n * inner, 2)](Backend &b) {
            const Buffer<T> x(b, values);
            return result<T>(b, outer * n * inner, [&](tl_storage **out) {
              return b.table->normalization->softmax(b.instance, x.operand(), outer, n, inner, 0,
                                                     out);
            });
          }};
}

// Forwards, and backwards from what that gave.
template <class T>
Case<T> scan(tl_scan_op op, uint64_t time, uint64_t state) {
  const uint64_t count = time * state;
  const uint64_t coefficients = op == TL_SCAN_CONSTANT ? state : count;
  return {"scan " + std::to_string(op) + " " + std::to_string(time) + " x " + std::to_string(state),
          [=](Backend &b) {
            const Buffer<T> a(b, ordinary<T>(coefficients, 7));
            const Buffer<T> factor(b, ordinary<T>(coefficients, 8));
            const Buffer<T> x(b, ordinary<T>(count, 9));
            const Buffer<T> h0(b, ordinary<T>(state, 10));
            const Buffer<T> h(b, result<T>(b, count, [&](tl_storage **out) {
                                return b.table->scan->forward(b.instance, op, a.operand(),
                                                              factor.operand(), x.operand(),
                                                              h0.operand(), time, state, 0, out);
                              }));
            return joined<T>(b, {coefficients, coefficients, count, state}, [&](tl_storage **out) {
              return b.table->scan->backward(b.instance, op, a.operand(), factor.operand(),
                                             x.operand(), h0.operand(), h.operand(), h.operand(),
                                             time, state, 0, out);
            });
          }};
}

// One shape for each way that work is cut.
template <class T>
std::vector<Case<T>> cases() {
  constexpr uint64_t rows = 70;
  constexpr uint64_t cols = 389;
  static const auto x = ordinary<T>(rows * cols, 3);
  static const auto y = ordinary<T>(rows * cols, 4);
  static const auto column = ordinary<T>(cols, 5);
  static const auto row = ordinary<T>(rows, 6);
  std::vector<Case<T>> cases = {
      reduction<T>(TL_REDUCE_TOTAL_SUM, 1, 70'001, 1),
      reduction<T>(TL_REDUCE_SUM, 37, 61, 1),
      reduction<T>(TL_REDUCE_SUM, 37, 1111, 1),
      reduction<T>(TL_REDUCE_SUM, 3, 70'001, 1),
      reduction<T>(TL_REDUCE_SUM, 2, 47, 333),
      reduction<T>(TL_REDUCE_SUM, 2, 1111, 37),
      reduction<T>(TL_REDUCE_SUM, 2, 4321, 3),
      reduction<T>(TL_REDUCE_SUM, 1, 4001, 131),
      reduction<T>(TL_REDUCE_SUM, 1, 1101, 2001),
      reduction<T>(TL_REDUCE_MAX, 3, 5001, 1),
      reduction<T>(TL_REDUCE_MAX, 2, 1111, 37),
      softmax<T>(23, 333, 1),
      softmax<T>(1, 40'000, 1),
      softmax<T>(3, 41, 111),
      softmax<T>(1, 201, 77),
  };
  cases.push_back({"masked softmax", [](Backend &b) {
                     const Buffer<T> scores(b, x);
                     std::vector<T> allowed = y;
                     for (T &value : allowed) value = value > 1 ? T(0) : value;
                     const Buffer<T> mask(b, allowed);
                     return result<T>(b, rows * cols, [&](tl_storage **out) {
                       return b.table->normalization->masked_softmax(
                           b.instance, scores.operand(), mask.operand(), rows, cols, 0, out);
                     });
                   }});
  cases.push_back({"layer_norm", [](Backend &b) {
                     const Buffer<T> input(b, x);
                     const Buffer<T> gamma(b, column);
                     return joined<T>(b, {rows * cols, rows * cols, rows}, [&](tl_storage **out) {
                       return b.table->normalization->layer_norm(b.instance, input.operand(),
                                                                 gamma.operand(), gamma.operand(),
                                                                 rows, cols, 1e-5, 0, out);
                     });
                   }});
  cases.push_back(
      {"layer_norm_bwd", [](Backend &b) {
         const Buffer<T> gradient(b, x);
         const Buffer<T> normalized(b, y);
         const Buffer<T> inv_std(b, row);
         const Buffer<T> gamma(b, column);
         const tl_layer_norm_bwd_params params = {sizeof params, rows, cols, cols, 1.0 / cols};
         return joined<T>(b, {rows * cols, cols, cols}, [&](tl_storage **out) {
           return b.table->normalization->layer_norm_bwd(b.instance, gradient.operand(),
                                                         normalized.operand(), inv_std.operand(),
                                                         gamma.operand(), &params, 0, out);
         });
       }});
  for (const tl_scan_op op : {TL_SCAN_CONSTANT, TL_SCAN_VARYING})
    for (const auto &[time, state] : {std::pair{rows + 1, uint64_t{5}}, {5 * rows + 1, cols}})
      cases.push_back(scan<T>(op, time, state));  // the second one is shared out
  for (const tl_row_mask_op op : {TL_ROW_MASK_FIRST_MAX, TL_ROW_MASK_TOP_K})
    cases.push_back({"mask " + std::to_string(op), [op](Backend &b) {
                       const Buffer<T> input(b, x);
                       return result<T>(b, rows * cols, [&](tl_storage **out) {
                         return b.table->reduction->row_mask(b.instance, op, input.operand(), rows,
                                                             cols, 9, 0, out);
                       });
                     }});
  return cases;
}

}  // namespace

TEST_CASE_TEMPLATE("folds have the same bits with every target, on one to four threads", T, float,
                   double) {
  const auto backends = every_target();
  for (const Case<T> &one : cases<T>()) {
    CAPTURE(one.name);
    const std::vector<T> expected = one.run(*backends[0]);
    for (size_t i = 0; i < backends.size(); ++i)
      for (const uint32_t threads : {1U, 2U, 3U, 4U}) {
        CAPTURE(i);
        CAPTURE(threads);
        Backend &backend = *backends[i];
        REQUIRE(backend.table->device->set_num_threads(backend.instance, threads) == TL_OK);
        CHECK(all_same(one.run(backend), expected));
      }
  }
}

TEST_CASE_TEMPLATE("sums and maxima of more than the caches hold take in every element once", T,
                   float, double) {
  struct Shape {
    uint64_t outer, n, inner;
  };
  const auto backends = every_target();
  // Rows; columns of one strip, of several, of few rows, and so few of them that rows are joined;
  // one row of twice a cache of 32 MiB.
  for (const Shape shape :
       {Shape{1101, 2001, 1}, Shape{2, 1201, 999}, Shape{1, 1101, 2001}, Shape{3, 13, 60'001},
        Shape{2, 9001, 131}, Shape{1, 700'001, 3}, Shape{1, 8'400'001, 1}}) {
    CAPTURE(shape.n);
    CAPTURE(shape.inner);
    std::mt19937_64 random(11);
    std::vector<T> x(shape.outer * shape.n * shape.inner);
    for (T &value : x) value = static_cast<T>(static_cast<int>(random() >> 60) - 8);
    std::vector<T> sums(shape.outer * shape.inner);
    std::vector<T> maxima(shape.outer * shape.inner, -9);
    for (uint64_t i = 0; i < x.size(); ++i) {
      const uint64_t at = i / (shape.n * shape.inner) * shape.inner + i % shape.inner;
      sums[at] += x[i];
      maxima[at] = std::max(maxima[at], x[i]);
    }
    const std::vector<T> total = {std::accumulate(x.begin(), x.end(), T(0))};
    for (const auto &backend : backends) {
      const Buffer<T> buffer(*backend, x);
      const auto reduced = [&](tl_reduce_op op, const Shape &dims) {
        return result<T>(*backend, dims.outer * dims.inner, [&](tl_storage **out) {
          return backend->table->reduction->reduce(backend->instance, op, buffer.operand(),
                                                   dims.outer, dims.n, dims.inner, 0, out);
        });
      };
      CHECK(all_same(reduced(TL_REDUCE_SUM, shape), sums));
      CHECK(all_same(reduced(TL_REDUCE_MAX, shape), maxima));
      CHECK(all_same(reduced(TL_REDUCE_TOTAL_SUM, {1, x.size(), 1}), total));
    }
  }
}
