// How much of their bounds sums, means, scattered additions and matrix products use.
#include "bounds_search.hpp"

namespace torchlean::test {
namespace {

template <class T>
Sum sum_of(const std::vector<T> &x) {
  Sum sum;
  for (const T value : x) sum.add(value);
  return sum;
}

// ---- Sums ---------------------------------------------------------------------------------------

template <tl_reduce_op op>
struct Reduction {
  static constexpr const char *bound = "min(n - 1, 8 max(1, log2 n)) eps sum |x|";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {}, {values<T>(random, length(random, 400))}};
  }

  template <class T>
  static T computed(Backend &backend, const Case<T> &c) {
    return call<T>(backend, c.inputs, {1}, [&](auto in, auto out) {
      return backend.table->reduction->reduce(backend.instance, op, in[0], 1, c.inputs[0].size(), 1,
                                              0, out);
    })[0][0];
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    Share<T> share;
    const Sum sum = sum_of(c.inputs[0]);
    share.add(computed(backend, c), sum.value, sum_bound<T>(sum));
    return share;
  }
};

struct ReduceSum : Reduction<TL_REDUCE_TOTAL_SUM> {
  static constexpr const char *name = "reduce_sum";
};
struct ReduceSumAxis : Reduction<TL_REDUCE_SUM> {
  static constexpr const char *name = "reduce_sum_axis, reduce_sum_by_row";
};

struct ReduceMean : Reduction<TL_REDUCE_TOTAL_MEAN> {
  static constexpr const char *name = "reduce_mean";
  static constexpr const char *bound = "(8 max(1, log2 n) + 2) eps sum |x| / n";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    Share<T> share;
    const Sum sum = sum_of(c.inputs[0]);
    share.add(computed(backend, c), sum.value / sum.terms,
              Number((8 * log2_of(sum.terms) + 2) * eps<T>) * sum.magnitude / sum.terms);
    return share;
  }
};

struct ReduceFromBroadcast {
  static constexpr const char *name = "reduce_from_broadcast";
  static constexpr const char *bound = Reduction<TL_REDUCE_SUM>::bound;

  // (rows, cols) to (cols)
  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t rows = length(random, 50), cols = length(random, 4);
    return {{rows, cols}, {}, {values<T>(random, rows * cols)}};
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t rows = c.sizes[0], cols = c.sizes[1];
    tl_broadcast_params params = {sizeof params, 2, 0, {rows, cols}, {0, 1}};
    const auto y = call<T>(backend, c.inputs, {cols}, [&](auto in, auto out) {
      return backend.table->reduction->sum_to_shape(backend.instance, in[0], &params, cols, 0, out);
    })[0];
    Share<T> share;
    for (uint64_t j = 0; j < cols; ++j) {
      Sum sum;
      for (uint64_t i = 0; i < rows; ++i) sum.add(c.inputs[0][i * cols + j]);
      share.add(y[j], sum.value, sum_bound<T>(sum));
    }
    return share;
  }
};

struct ScatterAdd {
  static constexpr const char *name = "scatter_add, scatter_add_rows";
  static constexpr const char *bound = "2 r eps (|base| + sum |v|)";

  // All updates hit one row of one element.
  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {}, {values<T>(random, 1), values<T>(random, length(random, 50))}};
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t hits = c.inputs[1].size();
    const std::vector<uint32_t> indices(hits, 0);
    const T y = call<T>(backend, c.inputs, {1}, [&](auto in, auto out) {
      return backend.table->indexing->scatter_add_rows(backend.instance, in[0], in[1], 1, 1,
                                                       indices.data(), hits, 0, out);
    })[0][0];
    Share<T> share;
    Sum sum = sum_of(c.inputs[1]);
    sum.add(c.inputs[0][0]);
    share.add(y, sum.value, Number(2 * static_cast<double>(hits) * eps<T>) * sum.magnitude);
    return share;
  }
};

// ---- Products -----------------------------------------------------------------------------------

template <class T>
Case<T> drawn_product(Random &random, double scale = 1) {
  const uint64_t m = length(random, 3), n = length(random, 100), p = length(random, 3);
  return {{m, n, p}, {}, {values<T>(random, m * n, scale), values<T>(random, n * p, scale)}};
}

// a . b of an element of the product.
template <class T>
Sum dot(const Case<T> &c, uint64_t i, uint64_t j) {
  const uint64_t n = c.sizes[1], p = c.sizes[2];
  Sum sum;
  for (uint64_t k = 0; k < n; ++k) sum.add(Number(c.inputs[0][i * n + k]) * c.inputs[1][k * p + j]);
  return sum;
}

template <class T, class Bound>
Share<T> product_share(const Case<T> &c, const std::vector<T> &y, double scale, Bound bound) {
  Share<T> share;
  for (uint64_t i = 0; i < c.sizes[0]; ++i)
    for (uint64_t j = 0; j < c.sizes[2]; ++j) {
      const Sum sum = dot(c, i, j);
      if (fits<T>(sum.magnitude * abs(Number(scale))))
        share.add(y[i * c.sizes[2] + j], sum.value * scale, bound(sum));
    }
  return share;
}

template <class T>
tl_bmm_params bmm_shape(const Case<T> &c) {
  return {sizeof(tl_bmm_params), 1, c.sizes[0], c.sizes[1], c.sizes[2], 0, 0};
}

struct Bmm {
  static constexpr const char *name = "bmm_with_transpose";
  static constexpr const char *bound = "2 n eps sum |a b|, n smallest subnormals";

  template <class T>
  static Case<T> draw(Random &random) {
    return drawn_product<T>(random);
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const tl_bmm_params params = bmm_shape(c);
    const auto y = call<T>(backend, c.inputs, {params.m * params.p}, [&](auto in, auto out) {
      return backend.table->matmul->bmm(backend.instance, in[0], in[1], &params, 0, out);
    })[0];
    return product_share(c, y, 1, product_bound<T>);
  }
};

struct Dgemm {
  static constexpr const char *name = "dgemm";
  static constexpr const char *bound = Bmm::bound;

  template <class T>
  static Case<T> draw(Random &random) {
    return drawn_product<T>(random);
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    std::vector<T> y(c.sizes[0] * c.sizes[2]);
    REQUIRE(backend.table->matmul->dgemm(backend.instance, c.inputs[0].data(), c.inputs[1].data(),
                                         c.sizes[0], c.sizes[1], c.sizes[2], y.data()) == TL_OK);
    return product_share(c, y, 1, product_bound<T>);
  }
};

struct BmmScaled {
  static constexpr const char *name = "bmm_scaled, flag 0";
  static constexpr const char *bound = "(2 n + 2) eps |s| sum |a b|";

  template <class T>
  static Case<T> draw(Random &random) {
    auto c = drawn_product<T>(random, std::exp2(uniform(random, -20, 20)));
    const double scale = chance(random, 0.3)
                             ? 1 / std::sqrt(static_cast<double>(pick(random, 1, 128)))
                         : chance(random, 0.5) ? uniform(random, 0.25, 4)
                                               : std::exp2(uniform(random, -60, 20));
    c.scalars = {chance(random, 0.5) ? scale : -scale};
    return c;
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const tl_bmm_params params = bmm_shape(c);
    const double scale = c.scalars[0];
    uint32_t replay = 1;
    const auto y = call<T>(backend, c.inputs, {params.m * params.p}, [&](auto in, auto out) {
      return backend.table->matmul->bmm_scaled(backend.instance, in[0], in[1], &params, scale, 0,
                                               out, &replay);
    })[0];
    if (replay != 0) return {};
    return product_share(c, y, scale, [&](const Sum &sum) {
      return Number((2 * static_cast<double>(params.n) + 2) * eps<T>) * abs(Number(scale)) *
             sum.magnitude;
    });
  }
};

}  // namespace

std::vector<Search> sum_searches() {
  auto all = searches<ReduceSum, ReduceMean, ReduceSumAxis, ReduceFromBroadcast, ScatterAdd, Bmm,
                      BmmScaled>();
  all.push_back({Dgemm::name, Dgemm::bound, nullptr, search<Dgemm, double>});
  return all;
}

}  // namespace torchlean::test
