// Fourier transforms against the sums that define them, in many digits.
#include "conformance.hpp"

namespace torchlean::conformance {
namespace {

const struct {
  tl_operation operation;
  Buffer (*call)(const Buffer &, std::uint64_t batch, std::uint64_t n);
  decltype(&tl_rfft1d_packed) function;
} transforms[] = {
    {TL_OP_rfft1d_packed, rfft1d_packed, tl_rfft1d_packed},
    {TL_OP_irfft1d_packed, irfft1d_packed, tl_irfft1d_packed},
    {TL_OP_irfft1d_packed_unnormalized, irfft1d_packed_unnormalized,
     tl_irfft1d_packed_unnormalized},
};

std::size_t bins_of(std::size_t n) { return 2 * (n / 2 + 1); }
std::size_t operand_size(tl_operation operation, std::size_t n) {
  return operation == TL_OP_rfft1d_packed ? n : bins_of(n);
}

// cos and sin of k/n turns for all k < n.
struct Circle {
  explicit Circle(std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
      cosine.push_back(cos_turn(Number(k), n));
      sine.push_back(sin_turn(Number(k), n));
    }
  }
  std::vector<Number> cosine, sine;
};

// Of x, from `first` on, most elements of which may be 0.
template <class T>
std::vector<Number> exact_transform(tl_operation operation, const std::vector<T> &x,
                                    std::size_t first, const Circle &circle) {
  const std::size_t n = circle.cosine.size();
  std::vector<Number> y;
  if (operation == TL_OP_rfft1d_packed) {
    for (std::size_t k = 0; k <= n / 2; ++k) {
      Number re = 0, im = 0;
      for (std::size_t j = 0; j < n; ++j) {
        if (x[first + j] == 0) continue;
        re += x[first + j] * circle.cosine[j * k % n];
        im += Number(0) - x[first + j] * circle.sine[j * k % n];
      }
      y.push_back(re);
      y.push_back(im);
    }
    return y;
  }
  const Number factor = operation == TL_OP_irfft1d_packed ? Number(1) / n : Number(1);
  for (std::size_t j = 0; j < n; ++j) {
    Number sum = x[first];
    for (std::size_t k = 1; k <= n / 2; ++k) {
      const T re = x[first + 2 * k], im = x[first + 2 * k + 1];
      if (2 * k == n)
        sum += re * circle.cosine[j * k % n];
      else if (re != 0 || im != 0)
        sum += 2 * (re * circle.cosine[j * k % n] - im * circle.sine[j * k % n]);
    }
    y.push_back(sum * factor);
  }
  return y;
}

// The relative L2 error of each transform of the batch is at most 4 eps (log2 n + 1). Below the
// normal range an element may miss by two smallest subnormals more, and by four for each term of
// the sum that lies there, times the factor 1/n where there is one: MKL divides on the way.
template <class T>
void check_transform(Check &check, std::size_t which, std::size_t n, const std::vector<T> &x,
                     const std::vector<bool> &skipped = {}) {
  const auto &[operation, call, function] = transforms[which];
  const std::size_t in = operand_size(operation, n), batch = x.size() / in;
  const Circle circle(n);
  const auto y = download<T>(call(check.input(x), batch, n));
  const std::size_t width = y.size() / batch;
  for (std::size_t b = 0; b < batch; ++b) {
    if (!skipped.empty() && skipped[b]) continue;
    const auto exact = exact_transform(operation, x, b * in, circle);
    Number error = 0, size = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const T value = y[b * width + i];
      const Number missed = std::isfinite(value) ? value - exact[i] : Number(Values<T>::inf);
      error += missed * missed;
      size += exact[i] * exact[i];
    }
    const auto terms = static_cast<double>(
        std::count_if(x.begin() + static_cast<std::ptrdiff_t>(b * in),
                      x.begin() + static_cast<std::ptrdiff_t>((b + 1) * in),
                      [](T term) { return term != 0 && std::fabs(term) < Values<T>::normal; }));
    const double each = operation == TL_OP_rfft1d_packed    ? 4
                        : operation == TL_OP_irfft1d_packed ? 8.0 / static_cast<double>(n)
                                                            : 8;  // mirrored: two terms
    const double relative = 4 * (std::log2(static_cast<double>(n)) + 1);
    const Number bound = Number(relative) * Values<T>::eps * sqrt(size) +
                         (2 + each * terms) * sqrt(Number(width)) * Values<T>::tiny;
    if (!(sqrt(error) <= bound))
      check.fail("transform " + std::to_string(b) + ": the L2 error is " +
                 text_of(sqrt(error).template rounded<double>()) + ", expected at most " +
                 text_of(bound.template rounded<double>()));
  }
}

void add_lengths(Table &table, std::size_t which) {
  const tl_operation operation = transforms[which].operation;
  std::vector<std::size_t> lengths = {31, 32, 33, 64, 67, 96, 97, 121, 127, 134};
  for (std::size_t n = 1; n <= 20; ++n) lengths.push_back(n);
  for (const std::size_t n : lengths)
    table.add(operation, Kind::ordinary, "n=" + std::to_string(n), [=]<class T>(Check &check) {
      check_transform(check, which, n, normal_values<T>(3 * operand_size(operation, n)));
    });
  // Powers of two and their neighbours, primes, a product of two large primes.
  for (const std::size_t n : {1009, 1024, 4096, 4097, 67 * 71})
    table.add(operation, Kind::ordinary, "a few impulses, n=" + std::to_string(n),
              [=]<class T>(Check &check) {
                const std::size_t in = operand_size(operation, n);
                std::vector<T> x(in);
                x[2] = T(0.7), x[in / 3] = T(-1.1), x[in - 4] = T(2.3);
                check_transform(check, which, n, x);
              });
}

void add_fourier_specials(Table &table, std::size_t which) {
  const auto &[operation, call, function] = transforms[which];
  table.add(
      operation, Kind::special, "nothing over- or underflows on the way",
      [=, operation = operation]<class T>(Check &check) {
        for (const std::size_t n : {2, 7, 67, 128})
          for (const T scale : {Values<T>::normal * T(1.7), Values<T>::largest / T(4 * n * n)}) {
            std::vector<T> x(operand_size(operation, n), 0);
            x[0] = scale;
            check_transform(check, which, n, x);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale / T(i + 1);
            check_transform(check, which, n, x);
          }
      });
  table.add(operation, Kind::special, "a transform that is not finite leaves the others alone",
            [=, operation = operation]<class T>(Check &check) {
              for (const std::size_t n : {8, 15, 67}) {
                const std::size_t in = operand_size(operation, n);
                std::vector<T> x = normal_values<T>(3 * in);
                x[in + 2] = Values<T>::nan;
                check_transform(check, which, n, x, {false, true, false});
                x[in + 2] = Values<T>::inf;
                check_transform(check, which, n, x, {false, true, false});
              }
            });
  if (operation != TL_OP_rfft1d_packed)
    table.add(operation, Kind::special, "imaginary parts that no real signal has are ignored",
              [=, call = call]<class T>(Check &check) {
                const T nan = Values<T>::nan;
                const auto both = [&](std::size_t n, const std::vector<T> &odd,
                                      const std::vector<T> &plain) {
                  check.exact(call(check.input(odd), 1, n),
                              download<T>(call(check.input(plain), 1, n)));
                };
                both(4, {1, nan, 2, 3, 4, nan}, {1, 0, 2, 3, 4, 0});
                both(5, {1, nan, 2, 3, 4, 5}, {1, 0, 2, 3, 4, 5});
                check.exact(call(check.input(std::vector<T>{1, nan}), 1, 1), std::vector<T>{1});
              });
  table.add(operation, Kind::empty, "no transform", [call = call]<class T>(Check &check) {
    for (const std::uint64_t n : {1, 2, 5, 1024})
      check.exact(call(check.input(std::vector<T>{}), 0, n), std::vector<T>{});
  });
}

void add_wrong_fourier(Table &table, std::size_t which) {
  const auto &[operation, call, function] = transforms[which];
  const std::size_t count = 2 * operand_size(operation, 6);
  table.refuse_operands(operation, {count},
                        [function = function](const Operands &x, tl_buffer **out) {
                          return function(x[0], 2, 6, out);
                        });
  table.add(operation, Kind::wrong, "batch and n", [=, function = function]<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>(count, 1)), &none = check.input(std::vector<T>{});
    const auto refuse = [&](const char *what, const Buffer &from, std::uint64_t batch,
                            std::uint64_t n) {
      check.refused(what,
                    [&, batch, n](tl_buffer **out) { return function(from.get(), batch, n, out); });
    };
    refuse("n of 0", none, 2, 0);
    refuse("n of 0 and no batch", none, 0, 0);
    refuse("another batch", x, 3, 6);
    refuse("another n", x, 2, 9);
    refuse("a product beyond 64 bits", x, std::uint64_t{1} << 62U, 16);
  });
}

}  // namespace

void add_fourier(Table &table) {
  for (std::size_t which = 0; which < 3; ++which) {
    add_lengths(table, which);
    add_fourier_specials(table, which);
    add_wrong_fourier(table, which);
  }
  table.add(TL_OP_rfft1d_packed, Kind::special, "by hand", []<class T>(Check &check) {
    check.either_zero(rfft1d_packed(check.input(std::vector<T>{3}), 1, 1), std::vector<T>{3, 0});
    check.either_zero(rfft1d_packed(check.input(std::vector<T>{3, 5}), 1, 2),
                      std::vector<T>{8, 0, -2, 0});
  });
}

}  // namespace torchlean::conformance
