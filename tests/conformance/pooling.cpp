// Pools and their gradients from the list of each window's entries.
#include "windows.hpp"

namespace torchlean::conformance {
namespace {

struct Pool {
  Axes axes;
  std::uint64_t channels = 1;

  std::vector<std::int64_t> in() const {
    std::vector<std::int64_t> lengths;
    for (const Axis &a : axes) lengths.push_back(a.in);
    return lengths;
  }
  // A padding over half of the window, or no input, leaves nothing.
  std::vector<std::int64_t> out() const {
    std::vector<std::int64_t> lengths;
    for (const Axis &a : axes)
      lengths.push_back(a.in == 0 || 2 * a.before > a.kernel
                            ? 0
                            : window_count(a.in, a.kernel, a.stride, a.before, a.before, 1));
    return lengths;
  }
  std::uint64_t in_count() const { return channels * volume(in()); }
  std::uint64_t out_count() const { return channels * volume(out()); }
  std::uint64_t taps() const { return volume(axes, &Axis::kernel); }
  std::string text() const {
    return conformance::text_of(axes) + ", " + std::to_string(channels) + " channels";
  }
  // The entries of every window, in row-major order of the window.
  std::vector<std::vector<std::size_t>> entries() const {
    std::vector<std::vector<std::size_t>> windows(out_count());
    const auto all = meetings_of(axes, out(), in());
    for (std::uint64_t c = 0; c < channels; ++c)
      for (const Meeting &m : all)
        windows[c * volume(out()) + m.window].push_back(c * volume(in()) + m.position);
    return windows;
  }
};

// ---- The three pools ---------------------------------------------------------------------------

// The last NaN, else the first entry that no other exceeds.
template <class T>
std::size_t winner(const std::vector<T> &x, const std::vector<std::size_t> &entries) {
  std::size_t best = entries.front();
  for (const std::size_t i : entries)
    if (std::isnan(x[i]) || x[i] > x[best]) best = i;
  return best;
}

template <class T>
void check_maximum(Check &check, const Pool &pool, const std::vector<T> &x, double) {
  std::vector<T> expected;
  for (const auto &entries : pool.entries()) expected.push_back(x[winner(x, entries)]);
  check.exact(maxpool_fwd(check.input(x), windows_of(pool.axes), pool.channels), expected);
}

// Sums of section "Reductions": one term is exact.
template <class T>
void check_maximum_bwd(Check &check, const Pool &pool, const std::vector<T> &x,
                       const std::vector<T> &g, double) {
  std::vector<Sum<T>> sums(x.size());
  const auto windows = pool.entries();
  for (std::size_t w = 0; w < windows.size(); ++w) sums[winner(x, windows[w])].add(g[w]);
  std::vector<Number> exact, bounds;
  for (const Sum<T> &sum : sums) {
    exact.push_back(sum.value);
    bounds.push_back(sum.bound(sum.reduction_factor()));
  }
  check.within<T>(maxpool_bwd(check.input(x), check.input(g), windows_of(pool.axes), pool.channels),
                  exact, bounds);
}

template <class T>
void check_average(Check &check, const Pool &pool, const std::vector<T> &x, double) {
  Accumulated<T> y(pool.out_count());
  y.divisor = Number(pool.taps());
  const auto windows = pool.entries();
  for (std::size_t w = 0; w < windows.size(); ++w)
    for (const std::size_t i : windows[w]) y.add(w, x[i]);
  y.check(check, avgpool_fwd(check.input(x), windows_of(pool.axes), pool.channels), "result");
}

template <class T>
void check_average_bwd(Check &check, const Pool &pool, const std::vector<T> &,
                       const std::vector<T> &g, double) {
  Accumulated<T> d_x(pool.in_count());
  d_x.divisor = Number(pool.taps());
  const auto windows = pool.entries();
  for (std::size_t w = 0; w < windows.size(); ++w)
    for (const std::size_t i : windows[w]) d_x.add(i, g[w]);
  d_x.check(check, avgpool_bwd(check.input(g), windows_of(pool.axes), pool.channels), "result");
}

// One window of (1/beta) log sum exp(beta x), the padding counting as 0.
template <class T>
struct SmoothMaximum {
  SmoothMaximum(const std::vector<T> &x, const std::vector<std::size_t> &entries,
                std::uint64_t taps, double given_beta)
      : beta(static_cast<T>(given_beta)), n(static_cast<double>(taps)) {
    std::vector<T> all(taps - entries.size(), T(0));
    for (const std::size_t i : entries) all.push_back(x[i]);
    pivot = all[0];
    for (const T value : all)
      if (beta > 0 ? value > pivot : value < pivot) pivot = value;
    for (const T value : all) sum += power(value);
  }
  Number power(T x) const { return exp(Number(beta) * (Number(x) - pivot)); }
  Number weight(T x) const { return power(x) / sum; }
  Number value() const { return Number(pivot) + log(sum) / beta; }
  Number bound() const {
    return Number(Values<T>::eps) *
           (2 * abs(Number(pivot)) +
            Number((8 + 2 * std::log2(n)) * (1 + std::log(n))) / abs(Number(beta)));
  }
  // Relative, of a weight.
  Number weight_bound(T x) const {
    return Number(Values<T>::eps) *
           (4 + abs(Number(beta) * (Number(x) - pivot)) + 2 * Number(std::log2(n)));
  }

  T beta;
  T pivot;
  double n;
  Number sum = 0;
};

template <class T>
void check_smooth(Check &check, const Pool &pool, const std::vector<T> &x, double beta) {
  std::vector<Number> exact, bounds;
  for (const auto &entries : pool.entries()) {
    const SmoothMaximum<T> maximum(x, entries, pool.taps(), beta);
    exact.push_back(maximum.value());
    bounds.push_back(maximum.bound());
  }
  check.within<T>(smooth_maxpool_fwd(check.input(x), beta, windows_of(pool.axes), pool.channels),
                  exact, bounds);
}

template <class T>
void check_smooth_bwd(Check &check, const Pool &pool, const std::vector<T> &x,
                      const std::vector<T> &g, double beta) {
  std::vector<Sum<T>> sums(x.size());
  std::vector<Number> bounds(x.size(), 0), exact;
  const auto windows = pool.entries();
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const SmoothMaximum<T> maximum(x, windows[w], pool.taps(), beta);
    for (const std::size_t i : windows[w]) {
      const Number weight = maximum.weight(x[i]), term = weight * g[w];
      sums[i].add(term);
      bounds[i] += abs(term) * maximum.weight_bound(x[i]);
      if (weight <= Number(Values<T>::normal))
        bounds[i] += 4 * (1 + abs(Number(g[w]))) * Values<T>::tiny;
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    exact.push_back(sums[i].value);
    bounds[i] += sums[i].bound(sums[i].reduction_factor() + 1);  // 1: the product with g
  }
  check.within<T>(smooth_maxpool_bwd(check.input(x), check.input(g), beta, windows_of(pool.axes),
                                     pool.channels),
                  exact, bounds);
}

// ---- Cases -------------------------------------------------------------------------------------

Pool random_pool(std::mt19937_64 &random) {
  Pool pool;
  pool.channels = static_cast<std::uint64_t>(pick(random, 1, 3));
  for (std::int64_t rank = pick(random, 1, 3); rank > 0; --rank) {
    const std::int64_t kernel = pick(random, 1, 5);
    pool.axes.push_back(
        {pick(random, 1, 7), kernel, pick(random, 1, 3), pick(random, 0, kernel / 2)});
  }
  return pool;
}

constexpr double betas[] = {1, -1, 0.01, 7.3, -12};

// run(check, pool, x, g, beta) judges one call.
template <class Run>
void add_pool(Table &table, tl_operation operation, const Run &run) {
  const auto add = [&](Kind kind, const Pool &pool) {
    table.add(operation, kind, pool.text(), [=]<class T>(Check &check) {
      run(check, pool, normal_values<T>(pool.in_count(), 0, 3, 1),
          normal_values<T>(pool.out_count(), 0, 1, 2), 1.0);
    });
  };
  add(Kind::ordinary, {{{1, 1}}});
  add(Kind::ordinary, {{{1009, 3, 2, 1}}, 2});
  add(Kind::ordinary, {{{31, 5}}, 3});
  add(Kind::ordinary, {{{13, 3, 1, 1}, {11, 2, 2, 1}}, 3});
  add(Kind::ordinary, {{{16, 2, 2}, {16, 2, 2}}, 5});
  add(Kind::ordinary, {{{5, 2}, {4, 3, 1, 1}, {6, 2, 3}}, 2});
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    table.add(operation, Kind::ordinary, "five random pools from seed " + std::to_string(seed),
              [=]<class T>(Check &check) {
                std::mt19937_64 random(seed);
                for (const double beta : betas) {
                  const Pool pool = random_pool(random);
                  run(check, pool, normal_values<T>(pool.in_count(), 0, seed % 3 == 0 ? 0.1 : 3, 1),
                      normal_values<T>(pool.out_count(), 0, 1, 2), beta);
                }
              });
  add(Kind::empty, {{{4, 3, 1, 2}}, 2});          // padding over half of the window
  add(Kind::empty, {{{4, 3}, {4, 3, 1, 2}}, 2});  // along one axis
  add(Kind::empty, {{{0, 3, 1, 1}}, 2});          // no input
  add(Kind::empty, {{{2, 3}}, 2});                // the window does not fit
  add(Kind::empty, {{{4, 2}}, 0});                // no channel
}

template <class T>
std::vector<T> sorts(std::size_t n) {
  using V = Values<T>;
  const T all[] = {0, T(-0.0), V::inf, -V::inf, V::nan, 2, 2, 1, -1, V::tiny, V::largest};
  std::mt19937_64 random(n);
  std::vector<T> x(n);
  for (T &value : x) value = all[random() % std::size(all)];
  return x;
}

void add_pooling_values(Table &table) {
  add_pool(table, TL_OP_maxpool_fwd,
           [](Check &check, const Pool &pool, const auto &x, const auto &, double beta) {
             check_maximum(check, pool, x, beta);
           });
  add_pool(table, TL_OP_maxpool_bwd,
           [](Check &check, const Pool &pool, const auto &x, const auto &g, double beta) {
             check_maximum_bwd(check, pool, x, g, beta);
           });
  add_pool(table, TL_OP_avgpool_fwd,
           [](Check &check, const Pool &pool, const auto &x, const auto &, double beta) {
             check_average(check, pool, x, beta);
           });
  add_pool(table, TL_OP_avgpool_bwd,
           [](Check &check, const Pool &pool, const auto &x, const auto &g, double beta) {
             check_average_bwd(check, pool, x, g, beta);
           });
  add_pool(table, TL_OP_smooth_maxpool_fwd,
           [](Check &check, const Pool &pool, const auto &x, const auto &, double beta) {
             check_smooth(check, pool, x, beta);
           });
  add_pool(table, TL_OP_smooth_maxpool_bwd,
           [](Check &check, const Pool &pool, const auto &x, const auto &g, double beta) {
             check_smooth_bwd(check, pool, x, g, beta);
           });
}

const Pool crowded[] = {
    {{{31, 3, 1, 1}}, 2}, {{{7, 3, 1, 1}, {6, 2, 2, 1}}, 3}, {{{4, 2}, {3, 2}, {5, 3, 1, 1}}, 1}};

void add_pooling_specials(Table &table) {
  table.add(TL_OP_maxpool_fwd, Kind::special, "ties, NaN, infinities, zeros",
            []<class T>(Check &check) {
              for (const Pool &pool : crowded)
                check_maximum(check, pool, sorts<T>(pool.in_count()), 0);
            });
  table.add(TL_OP_maxpool_bwd, Kind::special, "ties, NaN, infinities, zeros",
            []<class T>(Check &check) {
              for (const Pool &pool : crowded)
                check_maximum_bwd(check, pool, sorts<T>(pool.in_count()),
                                  normal_values<T>(pool.out_count()), 0);
            });
  table.add(TL_OP_maxpool_bwd, Kind::special, "by hand: the first tie, the last NaN",
            []<class T>(Check &check) {
              const T nan = Values<T>::nan;
              check.exact(maxpool_bwd(check.input(std::vector<T>{2, 2, 1, nan, 5, nan}),
                                      check.input(std::vector<T>{7, 8}), {{6}, {3}, {3}, {0}}, 1),
                          std::vector<T>{7, 0, 0, 0, 0, 8});
            });
  for (const tl_operation operation : {TL_OP_avgpool_fwd, TL_OP_avgpool_bwd})
    table.add(operation, Kind::special,
              "what is not finite reaches its own windows only, wide magnitudes",
              [=]<class T>(Check &check) {
                for (const Pool &pool : crowded) {
                  auto x = normal_values<T>(pool.in_count()),
                       g = normal_values<T>(pool.out_count());
                  for (auto *values : {&x, &g}) {
                    for (std::size_t i = 0; i < values->size(); i += 3)
                      (*values)[i] = std::ldexp((*values)[i], i % 2 == 0 ? 100 : -100);
                    (*values)[values->size() / 2] = Values<T>::nan;
                  }
                  if (operation == TL_OP_avgpool_fwd)
                    check_average(check, pool, x, 0);
                  else
                    check_average_bwd(check, pool, x, g, 0);
                }
              });
  table.add(TL_OP_avgpool_fwd, Kind::special, "by hand: the whole window divides",
            []<class T>(Check &check) {
              check_average<T>(check, {{{3, 3, 1, 1}}}, {3, 6, 9}, 0);
              check_average<T>(check, {{{1, 1001, 1, 500}}}, {1001}, 0);
            });
  table.add(TL_OP_smooth_maxpool_fwd, Kind::special, "far from zero, steep and flat",
            []<class T>(Check &check) {
              const Pool whole{{{3, 3}}};
              check_smooth<T>(check, whole, {T(1e30), 1, 2}, 1);
              check_smooth<T>(check, whole, {T(-1e30), 1, 2}, -1);
              check_smooth<T>(check, whole, {2, 1, 2}, 1e30);
              check_smooth<T>(check, whole, {1000, 1000, 999}, 1);
              check_smooth<T>(check, whole, {1, 1, 1}, 1e-30);
              check_smooth<T>(check, {{{3, 5, 1, 2}}}, {-100, -200, -300}, 1);  // the padding wins
            });
  table.add(TL_OP_smooth_maxpool_bwd, Kind::special, "far from zero, steep and flat",
            []<class T>(Check &check) {
              const Pool whole{{{3, 3}}};
              check_smooth_bwd<T>(check, whole, {T(1e30), 1, 2}, {3}, 1);
              check_smooth_bwd<T>(check, whole, {2, 1, 2}, {3}, 1e30);
              check_smooth_bwd<T>(check, whole, {1, 1, 1}, {3}, 1e-30);
              check_smooth_bwd<T>(check, {{{3, 5, 1, 2}}}, {-100, -200, -300}, {1, 2, 3}, 1);
            });
}

// ---- Wrong arguments ---------------------------------------------------------------------------

struct Lists {
  List in = {5}, kernel = {2}, stride = {1}, padding = {0};
  double beta = 1;
};

using PoolCall = std::function<tl_status(const Operands &, const Lists &, tl_buffer **)>;

void add_wrong_pooling(Table &table) {
  const auto with = [](auto function) {
    return [=](const Lists &l, auto... rest) {
      return function(raw(l.in), raw(l.kernel), raw(l.stride), raw(l.padding), rest...);
    };
  };
  const struct {
    tl_operation operation;
    std::vector<std::uint64_t> counts;
    PoolCall call;
  } rows[] = {
      {TL_OP_maxpool_fwd,
       {10},
       [=](const Operands &x, const Lists &l, tl_buffer **out) {
         return with([&](auto... lists) { return tl_maxpool_fwd(x[0], lists..., 2, out); })(l);
       }},
      {TL_OP_maxpool_bwd,
       {10, 8},
       [=](const Operands &x, const Lists &l, tl_buffer **out) {
         return with([&](auto... lists) { return tl_maxpool_bwd(x[0], x[1], lists..., 2, out); })(
             l);
       }},
      {TL_OP_avgpool_fwd,
       {10},
       [=](const Operands &x, const Lists &l, tl_buffer **out) {
         return with([&](auto... lists) { return tl_avgpool_fwd(x[0], lists..., 2, out); })(l);
       }},
      {TL_OP_avgpool_bwd,
       {8},
       [=](const Operands &x, const Lists &l, tl_buffer **out) {
         return with([&](auto... lists) { return tl_avgpool_bwd(x[0], lists..., 2, out); })(l);
       }},
      {TL_OP_smooth_maxpool_fwd,
       {10},
       [=](const Operands &x, const Lists &l, tl_buffer **out) {
         return with([&](auto... lists) {
           return tl_smooth_maxpool_fwd(x[0], l.beta, lists..., 2, out);
         })(l);
       }},
      {TL_OP_smooth_maxpool_bwd,
       {10, 8},
       [=](const Operands &x, const Lists &l, tl_buffer **out) {
         return with([&](auto... lists) {
           return tl_smooth_maxpool_bwd(x[0], x[1], l.beta, lists..., 2, out);
         })(l);
       }},
  };
  for (const auto &[operation, counts, call] : rows) {
    table.refuse_operands(operation, counts, [call = call](const Operands &x, tl_buffer **out) {
      return call(x, Lists{}, out);
    });
    const bool has_beta =
        operation == TL_OP_smooth_maxpool_fwd || operation == TL_OP_smooth_maxpool_bwd;
    table.add(
        operation, Kind::wrong, "lists", [=, counts = counts, call = call]<class T>(Check &check) {
          Operands x;
          for (const std::uint64_t count : counts)
            x.push_back(check.input(std::vector<T>(count, 1)).get());
          const auto refuse = [&](const char *what, const Lists &lists) {
            check.refused(what, [&](tl_buffer **out) { return call(x, lists, out); });
          };
          refuse("no spatial axis", {.in = {}});
          refuse("four spatial axes", {{5, 1, 1, 1}, {2, 1, 1, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}});
          refuse("a kernel of 0", {.kernel = {0}});
          refuse("a stride of 0", {.stride = {0}});
          refuse("no padding", {.padding = {}});
          refuse("another product", {.in = {7}});
          if (!has_beta) return;
          for (const double beta : {0.0, -0.0, HUGE_VAL, std::nan("")})
            refuse("a useless beta", {.beta = beta});
          if (sizeof(T) == 4) refuse("a beta that is 0 in float32", {.beta = 1e-50});
          if (sizeof(T) == 4) refuse("a beta that is infinite in float32", {.beta = 1e39});
        });
  }
}

}  // namespace

void add_pooling(Table &table) {
  add_pooling_values(table);
  add_pooling_specials(table);
  add_wrong_pooling(table);
}

}  // namespace torchlean::conformance
