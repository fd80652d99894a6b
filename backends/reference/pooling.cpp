// Pools: the largest entry of a window, the average, the smooth maximum; and their gradients.
//
// Smooth maxima are computed in a wider type (wide.hpp) and rounded once.
#include "exact_sum.hpp"
#include "reference.hpp"
#include "wide.hpp"

#include <torchlean/backend_windows.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace torchlean::reference {
namespace {

// ---- One window of one channel ------------------------------------------------------------------

// The position of the largest entry: the last NaN, else the first of those that tie.
template <class T>
uint64_t winner(const WindowGrid &windows, uint64_t window, const T *x) {
  uint64_t best = max_count;  // no position yet
  windows.each(Side::window, window, [&](const BySide<uint64_t> &at) {
    const uint64_t i = at[Side::position];
    if (best == max_count || std::isnan(x[i]) || x[i] > x[best]) best = i;
  });
  return best;
}

// (1/β) log Σ exp(β x), padding being zeros, and the weights exp(β x) / Σ exp(β x).
template <class T>
class SmoothMaximum {
 public:
  using W = Wide<T>;

  SmoothMaximum(const PoolingGeometry &geometry, uint64_t window, const T *x, T beta)
      : beta_(beta) {
    const auto each_entry = [&](auto visit) {
      geometry.windows.each(Side::window, window,
                            [&](const BySide<uint64_t> &at) { visit(W{x[at[Side::position]]}); });
    };
    W padding = geometry.volume;
    each_entry([&](W) { --padding; });
    pivot_ = padding > 0 ? W(0) : std::copysign(std::numeric_limits<W>::infinity(), -beta_);
    each_entry([&](W entry) {
      if (std::isnan(entry) || (beta_ > 0 ? entry > pivot_ : entry < pivot_)) pivot_ = entry;
    });
    CompensatedSum<W> sum;
    if (padding > 0) sum.add(padding * exponential(0));
    each_entry([&](W entry) { sum.add(exponential(entry)); });
    sum_ = sum.value();
  }

  // An infinite pivot is the value: finite entries add nothing to it.
  T value() const {
    return static_cast<T>(std::isinf(pivot_) ? pivot_ : pivot_ + std::log(sum_) / beta_);
  }

  double weight(T x) const { return static_cast<double>(exponential(x) / sum_); }

 private:
  W exponential(W x) const { return std::exp(beta_ * (x - pivot_)); }

  W beta_;
  W pivot_;  // the entry that maximises β x
  W sum_;
};

template <class T>
T average(ExactSum &sum, double volume) {
  return static_cast<T>(sum.take<double>() / volume);
}

// ---- One channel --------------------------------------------------------------------------------

template <class T>
void pool(tl_pooling_op op, const PoolingGeometry &geometry, T beta, const T *x, T *y) {
  const WindowGrid &windows = geometry.windows;
  ExactSum sum;
  for (uint64_t w = 0; w < geometry.out_size; ++w) switch (op) {
      case TL_POOLING_MAX: y[w] = x[winner(windows, w, x)]; break;
      case TL_POOLING_AVERAGE:
        windows.each(Side::window, w,
                     [&](const BySide<uint64_t> &at) { sum.add(x[at[Side::position]]); });
        y[w] = average<T>(sum, geometry.volume);
        break;
      default: y[w] = SmoothMaximum<T>(geometry, w, x, beta).value();
    }
}

// d_x[i] = the sum of the windows' gradients g, each times its share for entry i.
template <class T>
void pool_gradient(tl_pooling_op op, const PoolingGeometry &geometry, T beta, const T *x,
                   const T *g, T *d_x) {
  const WindowGrid &windows = geometry.windows;
  std::vector<uint64_t> winners;
  std::vector<SmoothMaximum<T>> maxima;
  for (uint64_t w = 0; w < geometry.out_size; ++w) {
    if (op == TL_POOLING_MAX) winners.push_back(winner(windows, w, x));
    if (op == TL_POOLING_SMOOTH_MAX) maxima.emplace_back(geometry, w, x, beta);
  }
  ExactSum sum;
  for (uint64_t i = 0; i < geometry.in_size; ++i) {
    windows.each(Side::position, i, [&](const BySide<uint64_t> &at) {
      const uint64_t w = at[Side::window];
      switch (op) {
        case TL_POOLING_MAX:
          if (winners[w] == i) sum.add(g[w]);
          break;
        case TL_POOLING_AVERAGE: sum.add(g[w]); break;
        default: sum.add_product(maxima[w].weight(x[i]), double{g[w]});
      }
    });
    d_x[i] = op == TL_POOLING_AVERAGE ? average<T>(sum, geometry.volume) : sum.take<T>();
  }
}

// ---- Entries ------------------------------------------------------------------------------------

void pooling_forward(tl_instance &instance, tl_pooling_op op, const tl_operand *input,
                     const tl_pooling_params *params, tl_flags, tl_storage **out) {
  const PoolingGeometry geometry(op, params);
  expect_given("input", input);
  with_native(input->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("input", input);
    expect_equal("input.count", x.size(), geometry.input_count());
    check_count(geometry.output_count());
    const T beta = checked_beta<T>(op, geometry.params.beta);
    Result<T> y(instance, geometry.output_count());
    for (uint64_t c = 0; c < geometry.params.channels; ++c)
      pool(op, geometry, beta, x.data() + c * geometry.in_size, y.begin() + c * geometry.out_size);
    hand_out(out, y);
  });
}

void pooling_backward(tl_instance &instance, tl_pooling_op op, const tl_operand *input,
                      const tl_operand *gradient, const tl_pooling_params *params, tl_flags,
                      tl_storage **out) {
  const PoolingGeometry geometry(op, params);
  expect_given("gradient", gradient);
  with_native(gradient->dtype, [&]<class T>(T) {
    const auto g = values_of<T>("gradient", gradient);
    expect_equal("gradient.count", g.size(), geometry.output_count());
    std::span<const T> x;
    if (op != TL_POOLING_AVERAGE) {
      x = values_of<T>("input", input);
      expect_equal("input.count", x.size(), geometry.input_count());
    }
    check_count(geometry.input_count());
    const T beta = checked_beta<T>(op, geometry.params.beta);
    Result<T> d_x(instance, geometry.input_count());
    for (uint64_t c = 0; c < geometry.params.channels; ++c)
      pool_gradient(op, geometry, beta, x.empty() ? nullptr : &x[c * geometry.in_size],
                    g.data() + c * geometry.out_size, d_x.begin() + c * geometry.in_size);
    hand_out(out, d_x);
  });
}

}  // namespace

const tl_pooling_table pooling_table = {
    .struct_size = sizeof(tl_pooling_table),
    .forward = entry<"pooling forward", pooling_forward>,
    .backward = entry<"pooling backward", pooling_backward>,
};

}  // namespace torchlean::reference
