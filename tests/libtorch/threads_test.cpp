// In deterministic mode no bit depends on the number of threads.
#include "operations.hpp"

#include <doctest/doctest.h>

#include <functional>

using fake_host::backend;

namespace {

template <class T>
Values<T> transform(Mode mode, tl_fourier_op op, const Values<T> &x, uint64_t batch, uint64_t n) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(backend().fourier->transform(session.get(), op, operand.operand(), batch, n, 0, &out));
  const uint64_t width = op == TL_FOURIER_RFFT ? 2 * (n / 2 + 1) : n;
  return Buffer(session, out, batch * width, dtype_of<T>, sizeof(T)).template values<T>();
}

// All results of a call, one after the other.
template <class T, size_t size>
Values<T> joined(const std::array<Values<T>, size> &results) {
  Values<T> all;
  for (const Values<T> &values : results) all.insert(all.end(), values.begin(), values.end());
  return all;
}

template <class T>
struct Case {
  const char *name;
  std::function<Values<T>(Mode)> run;
};

template <class T>
std::vector<Case<T>> cases() {
  using Ops = Operations<T>;
  static const auto x = uniform_values<T>(120'000, 1, T(-3), T(3));
  static const auto t = uniform_values<T>(120'000, 2, T(-3), T(3));
  static const auto few = uniform_values<T>(40, 3, T(0.5), T(2));
  static const auto many = uniform_values<T>(3000, 4, T(0.5), T(2));
  static const ScanInputs<T> constant = {many, many, x, many};
  static const std::vector<uint32_t> indices = [] {
    std::vector<uint32_t> list(3000);
    for (uint32_t i = 0; i < list.size(); ++i) list[i] = i * i % 2999;
    return list;
  }();
  return {
      {"gather_rows", [](Mode m) { return Ops::gather_rows(m, x, 40, indices); }},
      {"scatter_add_rows", [](Mode m) { return Ops::scatter_add_rows(m, x, t, 40, indices); }},
      {"softmax of rows", [](Mode m) { return Ops::softmax(m, x, 300, 400, 1); }},
      {"softmax of columns", [](Mode m) { return Ops::softmax(m, x, 1, 40, 3000); }},
      {"masked_softmax", [](Mode m) { return Ops::masked_softmax(m, x, t, 400); }},
      {"layer_norm", [](Mode m) { return joined(Ops::layer_norm(m, x, few, few, 1)); }},
      {"layer_norm_bwd",
       [](Mode m) { return joined(Ops::layer_norm_bwd(m, x, t, many, few, 40, 0.025)); }},
      {"cross_entropy", [](Mode m) { return Ops::loss(m, TL_LOSS_CROSS_ENTROPY, x, t, 40); }},
      {"distillation", [](Mode m) { return Ops::loss(m, TL_LOSS_DISTILLATION, x, t, 40); }},
      {"its gradient",
       [](Mode m) { return Ops::loss(m, TL_LOSS_DISTILLATION_GRADIENT, x, t, 40); }},
      {"scan", [](Mode m) { return Ops::scan(m, constant); }},
      {"scan_bwd", [](Mode m) { return joined(Ops::scan_bwd(m, constant, x, t)); }},
  };
}

}  // namespace

TEST_CASE_TEMPLATE("B8: rows and columns have the same bits at any thread count", T, float,
                   double) {
  for (const Case<T> &one : cases<T>()) {
    INFO(one.name);
    const auto alone = one.run({true, 1});
    for (const uint32_t threads : {2, 3}) CHECK(same_bits(one.run({true, threads}), alone));
  }
}

TEST_CASE_TEMPLATE("B8: transforms have the same bits at any thread count", T, float, double) {
  for (const auto &shape : {std::pair<uint64_t, uint64_t>{1, 1 << 16},
                            {1, 3 << 15},
                            {3, 40'000},
                            {17, 64},
                            {1000, 13},
                            {2600, 13},
                            {1, 10'007}})
    for (const tl_fourier_op op :
         {TL_FOURIER_RFFT, TL_FOURIER_IRFFT, TL_FOURIER_IRFFT_UNNORMALIZED}) {
      const uint64_t batch = shape.first, n = shape.second;
      INFO(batch, " x ", n, ", op ", op);
      const uint64_t width = op == TL_FOURIER_RFFT ? n : 2 * (n / 2 + 1);
      const auto x = uniform_values<T>(batch * width, 5, T(-1), T(1));
      const auto alone = transform({true, 1}, op, x, batch, n);
      for (const uint32_t threads : {2, 3})
        CHECK(same_bits(transform({true, threads}, op, x, batch, n), alone));
    }
}
