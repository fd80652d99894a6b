// How much of their bounds convolutions and pools use, along one axis of one sample.
#include "bounds_search.hpp"

namespace torchlean::test {
namespace {

// ---- Convolution --------------------------------------------------------------------------------

// sizes: in and out channels, input length, taps, stride, padding. inputs: x, kernel, bias,
// gradient of the output.
template <tl_convolution_op op>
struct Convolution {
  static constexpr const char *bound = "2 N eps sum |products|";
  static constexpr bool transposed = op == TL_CONVOLUTION_TRANSPOSED;

  template <class T>
  static tl_convolution_params params(const Case<T> &c) {
    const auto size = [&](size_t i) { return static_cast<int64_t>(c.sizes[i]); };
    const int64_t in = size(2), taps = size(3), stride = size(4), padding = size(5);
    const int64_t out = transposed ? std::max<int64_t>(0, (in - 1) * stride + taps - 2 * padding)
                                   : window_count(in, taps, stride, padding, padding, 1);
    return {sizeof(tl_convolution_params),
            1,
            c.sizes[0],
            c.sizes[1],
            1,
            1,
            0,
            {1, 1, in},
            {1, 1, taps},
            {1, 1, stride},
            {0, 0, padding},
            {0, 0, padding},
            {1, 1, 1},
            {1, 1, out}};
  }

  template <class T>
  static Case<T> draw(Random &random) {
    for (;;) {
      Case<T> c = {{length(random, 3), length(random, 3), length(random, 12), length(random, 5),
                    length(random, 3), static_cast<uint64_t>(pick(random, 0, 2))},
                   {},
                   {}};
      const auto out = static_cast<uint64_t>(params(c).out[2]);
      if (out == 0) continue;
      c.inputs = {values<T>(random, c.sizes[0] * c.sizes[2]),
                  values<T>(random, c.sizes[0] * c.sizes[1] * c.sizes[3]),
                  values<T>(random, c.sizes[1]), values<T>(random, c.sizes[1] * out)};
      return c;
    }
  }

  // Calls visit(x, kernel, y), the indices of each product.
  template <class T, class Visit>
  static void each_product(const Case<T> &c, Visit visit) {
    const auto p = params(c);
    const int64_t windows = transposed ? p.in[2] : p.out[2],
                  positions = transposed ? p.out[2] : p.in[2];
    const auto all =
        meetings({{{1, 1, 1, 1, 1, 0},
                   {1, 1, 1, 1, 1, 0},
                   {windows, p.kernel[2], positions, p.stride[2], 1, p.padding_before[2]}}});
    for (uint64_t i = 0; i < p.in_channels; ++i)
      for (uint64_t o = 0; o < p.out_channels; ++o)
        for (const Meeting &m : all) {
          const uint64_t block = transposed ? i * p.out_channels + o : o * p.in_channels + i;
          visit(i * c.sizes[2] + (transposed ? m.window : m.position), block * c.sizes[3] + m.tap,
                o * static_cast<uint64_t>(p.out[2]) + (transposed ? m.position : m.window));
        }
  }

  template <class T>
  static void add(Share<T> &share, const std::vector<T> &got, const std::vector<Sum> &exact) {
    for (size_t i = 0; i < got.size(); ++i)
      share.add(got[i], exact[i].value, product_bound<T>(exact[i]));
  }
};

template <tl_convolution_op op>
struct ConvolutionForward : Convolution<op> {
  using C = Convolution<op>;
  static constexpr const char *name = C::transposed ? "convtranspose_fwd" : "conv, conv_fwd";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto params = C::params(c);
    const auto &x = c.inputs[0], &kernel = c.inputs[1], &bias = c.inputs[2];
    std::vector<Sum> exact(c.inputs[3].size());
    for (size_t i = 0; i < exact.size(); ++i)
      exact[i].add(bias[i / static_cast<size_t>(params.out[2])]);
    C::each_product(
        c, [&](uint64_t i, uint64_t k, uint64_t o) { exact[o].add(Number(x[i]) * kernel[k]); });
    Share<T> share;
    C::add(share,
           call<T>(backend, c.inputs, {exact.size()},
                   [&](auto in, auto out) {
                     return backend.table->convolution->forward(backend.instance, op, in[0], in[1],
                                                                in[2], &params, 0, out);
                   })[0],
           exact);
    return share;
  }
};

template <tl_convolution_op op>
struct ConvolutionBackward : Convolution<op> {
  using C = Convolution<op>;
  static constexpr const char *name = C::transposed ? "convtranspose_bwd" : "conv_bwd";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto params = C::params(c);
    const auto &x = c.inputs[0], &kernel = c.inputs[1], &g = c.inputs[3];
    std::vector<Sum> d_kernel(kernel.size()), d_bias(c.inputs[2].size()), d_x(x.size());
    for (size_t i = 0; i < g.size(); ++i) d_bias[i / static_cast<size_t>(params.out[2])].add(g[i]);
    C::each_product(c, [&](uint64_t i, uint64_t k, uint64_t o) {
      d_kernel[k].add(Number(x[i]) * g[o]);
      d_x[i].add(Number(kernel[k]) * g[o]);
    });
    const auto y = call<T>(backend, c.inputs, {kernel.size(), d_bias.size(), x.size()},
                           [&](auto in, auto out) {
                             return backend.table->convolution->backward(
                                 backend.instance, op, in[0], in[1], in[3], &params, 0, out);
                           });
    Share<T> share;
    C::add(share, y[0], d_kernel);
    C::add(share, y[1], d_bias);
    C::add(share, y[2], d_x);
    return share;
  }
};

// ---- Pools --------------------------------------------------------------------------------------

// sizes: input length, taps, stride, padding. inputs: x, gradient of the output.
template <tl_pooling_op op>
struct Pool {
  template <class T>
  static tl_pooling_params params(const Case<T> &c) {
    const auto size = [&](size_t i) { return static_cast<int64_t>(c.sizes[i]); };
    return {sizeof(tl_pooling_params),
            1,
            {1, 1, size(0)},
            {1, 1, size(1)},
            {1, 1, size(2)},
            {0, 0, size(3)},
            {1, 1, window_count(size(0), size(1), size(2), size(3), size(3), 1)},
            c.scalars[0]};
  }

  template <class T>
  static Case<T> draw(Random &random) {
    for (;;) {
      const auto taps = length(random, 12);
      const double beta = std::exp2(uniform(random, -6, 6));
      Case<T> c = {{length(random, 20), taps, length(random, 3),
                    static_cast<uint64_t>(pick(random, 0, static_cast<int64_t>(taps / 2)))},
                   {chance(random, 0.5) ? beta : -beta},
                   {}};
      const auto out = static_cast<uint64_t>(params(c).out[2]);
      if (out == 0) continue;
      c.inputs = {values<T>(random, c.sizes[0], std::exp2(uniform(random, -6, 4))),
                  values<T>(random, out)};
      return c;
    }
  }

  // The positions of each window's entries.
  template <class T>
  static std::vector<std::vector<uint64_t>> windows(const Case<T> &c) {
    const auto p = params(c);
    std::vector<std::vector<uint64_t>> entries(c.inputs[1].size());
    for (const Meeting &m :
         meetings({{{1, 1, 1, 1, 1, 0},
                    {1, 1, 1, 1, 1, 0},
                    {p.out[2], p.kernel[2], p.in[2], p.stride[2], 1, p.padding[2]}}}))
      entries[m.window].push_back(m.position);
    return entries;
  }

  template <class T>
  static std::vector<T> forward(Backend &backend, const Case<T> &c) {
    const auto p = params(c);
    return call<T>(backend, c.inputs, {c.inputs[1].size()}, [&](auto in, auto out) {
      return backend.table->pooling->forward(backend.instance, op, in[0], &p, 0, out);
    })[0];
  }

  template <class T>
  static std::vector<T> backward(Backend &backend, const Case<T> &c) {
    const auto p = params(c);
    return call<T>(backend, c.inputs, {c.inputs[0].size()}, [&](auto in, auto out) {
      return backend.table->pooling->backward(
          backend.instance, op, op == TL_POOLING_AVERAGE ? nullptr : in[0], in[1], &p, 0, out);
    })[0];
  }
};

struct AveragePool : Pool<TL_POOLING_AVERAGE> {
  static constexpr const char *name = "avgpool_fwd, avgpool_bwd";
  static constexpr const char *bound = "2 N eps sum |x| / volume";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto y = forward(backend, c), d_x = backward(backend, c);
    const auto entries = windows(c);
    std::vector<Sum> sums(y.size()), gradients(d_x.size());
    for (size_t w = 0; w < y.size(); ++w)
      for (const uint64_t i : entries[w]) {
        sums[w].add(Number(c.inputs[0][i]) / c.sizes[1]);
        gradients[i].add(Number(c.inputs[1][w]) / c.sizes[1]);
      }
    Share<T> share;
    for (size_t w = 0; w < y.size(); ++w) share.add(y[w], sums[w].value, product_bound<T>(sums[w]));
    for (size_t i = 0; i < d_x.size(); ++i)
      share.add(d_x[i], gradients[i].value, product_bound<T>(gradients[i]));
    return share;
  }
};

// (1/beta) log sum exp(beta x) of one window, padding being zeros.
template <class T>
struct ExactSmoothMaximum {
  ExactSmoothMaximum(T factor, const std::vector<T> &x, const std::vector<uint64_t> &entries,
                     uint64_t taps)
      : beta(factor), n(taps) {
    const uint64_t padding = taps - entries.size();
    pivot = padding > 0 ? T(0) : x[entries.front()];
    for (const uint64_t i : entries)
      if (factor > 0 ? x[i] > pivot : x[i] < pivot) pivot = x[i];
    sum = exp(exponent(0)) * padding;
    for (const uint64_t i : entries) sum += exp(exponent(x[i]));
  }

  Number exponent(T x) const { return beta * (Number(x) - pivot); }
  Number weight(T x) const { return exp(exponent(x)) / sum; }
  Number value() const { return Number(pivot) + log(sum) / beta; }
  double log2_n() const { return std::log2(static_cast<double>(n)); }

  Number bound() const {
    return Number(eps<T>) * (Number(2) * abs(Number(pivot)) +
                             Number(8 + 2 * log2_n()) * (log(Number(n)) + 1) / abs(beta));
  }
  Number weight_bound(T x) const {
    return Number(eps<T>) * weight(x) * (abs(exponent(x)) + 4 + 2 * log2_n()) +
           underflow<T>(weight(x));
  }

  Number beta;
  uint64_t n;
  T pivot;
  Number sum = 0;
};

template <class T>
std::vector<ExactSmoothMaximum<T>> smooth_maxima(
    const Case<T> &c, const std::vector<std::vector<uint64_t>> &windows) {
  std::vector<ExactSmoothMaximum<T>> maxima;
  maxima.reserve(windows.size());
  for (const auto &entries : windows)
    maxima.emplace_back(static_cast<T>(c.scalars[0]), c.inputs[0], entries, c.sizes[1]);
  return maxima;
}

struct SmoothMaxPool : Pool<TL_POOLING_SMOOTH_MAX> {
  static constexpr const char *name = "smooth_maxpool_fwd";
  static constexpr const char *bound = "eps (2 |x*| + (8 + 2 log2 N) (1 + ln N) / |beta|)";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto y = forward(backend, c);
    const auto maxima = smooth_maxima(c, windows(c));
    Share<T> share;
    for (size_t w = 0; w < y.size(); ++w) share.add(y[w], maxima[w].value(), maxima[w].bound());
    return share;
  }
};

struct SmoothMaxPoolBackward : Pool<TL_POOLING_SMOOTH_MAX> {
  static constexpr const char *name = "smooth_maxpool_bwd";
  static constexpr const char *bound =
      "weights relative (4 + |beta (x - x*)| + 2 log2 N) eps, then a sum's";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const auto d_x = backward(backend, c);
    const auto entries = windows(c);
    const auto maxima = smooth_maxima(c, entries);
    std::vector<Sum> exact(d_x.size());
    std::vector<Number> weights(d_x.size(), Number(0));
    for (size_t w = 0; w < entries.size(); ++w)
      for (const uint64_t i : entries[w]) {
        const T x = c.inputs[0][i];
        const Number g = c.inputs[1][w];
        exact[i].add(maxima[w].weight(x) * g);
        weights[i] += maxima[w].weight_bound(x) * abs(g);
      }
    Share<T> share;
    for (size_t i = 0; i < d_x.size(); ++i)
      share.add(d_x[i], exact[i].value,
                exact[i].terms == 0 ? Number(0) : weights[i] + sum_bound<T>(exact[i]));
    return share;
  }
};

}  // namespace

std::vector<Search> window_searches() {
  return searches<ConvolutionForward<TL_CONVOLUTION>, ConvolutionForward<TL_CONVOLUTION_TRANSPOSED>,
                  ConvolutionBackward<TL_CONVOLUTION>,
                  ConvolutionBackward<TL_CONVOLUTION_TRANSPOSED>, AveragePool, SmoothMaxPool,
                  SmoothMaxPoolBackward>();
}

}  // namespace torchlean::test
