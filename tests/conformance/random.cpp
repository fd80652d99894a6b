// Random numbers: SplitMix64's published outputs, and its definition written down once more.
#include "conformance.hpp"

namespace torchlean::conformance {
namespace {

// The low half of SplitMix64's output for the state `counter`.
std::uint32_t low_half(std::uint64_t counter) {
  std::uint64_t z = counter + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>(z ^ (z >> 31U));
}

template <class T>
T uniform(std::uint64_t counter) {
  return static_cast<T>(low_half(counter) / 0x1p32);
}

constexpr std::uint64_t keys[] = {0, 1, 9, 0x0123456789ABCDEFU, UINT64_MAX - 500};

// A counter of the low half 0xffffffc4, whose uniform number rounds to 1 in float32.
constexpr std::uint64_t counter_of_one = 101466007;

void add_uniform(Table &table) {
  table.add(TL_OP_rand_uniform, Kind::ordinary, "published outputs", []<class T>(Check &check) {
    // SplitMix64 from state 0: e220a8397b1dcdaf 6e789e6aa1b965f4 06c45d188009454f f88bb8a8724c81ec;
    // its state grows by the constant, ours by one, so they are first outputs of other states.
    constexpr std::uint64_t step = 0x9E3779B97F4A7C15U;
    constexpr std::uint32_t low[] = {0x7b1dcdaf, 0xa1b965f4, 0x8009454f, 0x724c81ec};
    for (std::uint64_t i = 0; i < 4; ++i)
      check.exact(rand_uniform(1, i * step, dtype_of<T>),
                  std::vector<T>{static_cast<T>(low[i] / 0x1p32)});
  });
  for (const std::uint64_t key : keys)
    table.add(TL_OP_rand_uniform, Kind::ordinary, "key=" + std::to_string(key),
              [key]<class T>(Check &check) {
                std::vector<T> expected;
                for (std::uint64_t i = 0; i < 1009; ++i) expected.push_back(uniform<T>(key + i));
                check.exact(rand_uniform(1009, key, dtype_of<T>), expected);
              });
  table.add(TL_OP_rand_uniform, Kind::special, "float32 can give 1", []<class T>(Check &check) {
    const std::uint64_t key = counter_of_one;
    const T expected = sizeof(T) == 4 ? T(1) : static_cast<T>(low_half(key) / 0x1p32);
    check.exact(rand_uniform(1, key, dtype_of<T>), std::vector<T>{expected});
  });
}

void add_bernoulli(Table &table) {
  for (const double p : {0.25, 0.1, 1 - 0x1p-30})
    table.add(TL_OP_bernoulli_mask, Kind::ordinary, "p=" + std::to_string(p),
              [p]<class T>(Check &check) {
                std::vector<T> expected;
                const T rounded = static_cast<T>(p);
                for (std::uint64_t i = 0; i < 1009; ++i)
                  expected.push_back(rounded >= 1 || uniform<T>(9 + i) < rounded ? 1 : 0);
                check.same_bits(bernoulli_mask(1009, p, 9, dtype_of<T>), expected);
              });
  table.add(TL_OP_bernoulli_mask, Kind::special, "no probability, and all of it",
            []<class T>(Check &check) {
              const auto mask = [](double p) { return bernoulli_mask(31, p, 9, dtype_of<T>); };
              for (const double none : {0.0, -0.0, -1.0, -HUGE_VAL, std::nan("")})
                check.same_bits(mask(none), std::vector<T>(31, 0));
              for (const double all : {1.0, 2.0, HUGE_VAL})
                check.same_bits(mask(all), std::vector<T>(31, 1));
              // Even a uniform number of 1 is drawn where p is 1.
              check.same_bits(bernoulli_mask(1, 1, counter_of_one, dtype_of<T>), std::vector<T>{1});
            });
}

template <class T>
void check_normal(Check &check, std::uint64_t key, std::size_t n, double mean, double deviation) {
  const Number m(static_cast<T>(mean)), s(static_cast<T>(deviation)), eps(Values<T>::eps);
  const Number two_pi(static_cast<T>(6.283185307179586));
  std::vector<Number> exact, bounds;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto u1 = static_cast<T>((low_half(key + 2 * i) + 1.0) / (0x1p32 + 1));
    const auto u2 = static_cast<T>(low_half(key + 2 * i + 1) / 0x1p32);
    const Number square = Number(-2) * log(Number(u1));
    const Number r = square <= 0 ? Number(0) : sqrt(square);
    exact.push_back(s * r * cos(two_pi * u2) + m);
    bounds.push_back(8 * eps * abs(s) * (1 + r) + eps * abs(m));
  }
  check.within<T>(rand_normal(n, mean, deviation, key, dtype_of<T>), exact, bounds);
}

void add_normal(Table &table) {
  for (const std::uint64_t key : keys)
    table.add(TL_OP_rand_normal, Kind::ordinary, "key=" + std::to_string(key),
              [key]<class T>(Check &check) { check_normal<T>(check, key, 401, 3, 0.5); });
  table.add(TL_OP_rand_normal, Kind::special, "mean and deviation", []<class T>(Check &check) {
    check_normal<T>(check, 5, 101, 0, 1);
    check_normal<T>(check, 5, 101, -0.1, -2);
    check_normal<T>(check, 5, 101, 1e8, 1e-8);
    check_normal<T>(check, 5, 101, 0.1, 0);
    check.exact(rand_normal(31, 1, std::nan(""), 5, dtype_of<T>),
                std::vector<T>(31, Values<T>::nan));
    check.exact(rand_normal(31, std::nan(""), 1, 5, dtype_of<T>),
                std::vector<T>(31, Values<T>::nan));
  });
}

template <class Generate>
void add_rest(Table &table, tl_operation operation, const Generate &generate) {
  table.add(
      operation, Kind::ordinary, "an element depends on key + i alone", [=]<class T>(Check &check) {
        const auto values = [&](std::uint64_t n, std::uint64_t key) {
          tl_buffer *out = nullptr;
          torchlean::check(generate(n, key, dtype_of<T>, &out));
          return download<T>(Buffer(out));
        };
        const std::uint64_t key = UINT64_MAX - 3;  // goes on at 0
        const auto whole = values(65537, key), part = values(65533, key + 4);
        // Normal numbers take two counters each.
        const std::size_t shift = operation == TL_OP_rand_normal ? 2 : 4;
        check.exact(std::vector<T>(whole.begin() + static_cast<std::ptrdiff_t>(shift),
                                   whole.begin() + static_cast<std::ptrdiff_t>(shift) + 65000),
                    std::vector<T>(part.begin(), part.begin() + 65000));
      });
  table.add(operation, Kind::empty, "n=0", [=]<class T>(Check &check) {
    tl_buffer *out = nullptr;
    torchlean::check(generate(0, 1, dtype_of<T>, &out));
    check.exact(Buffer(out), std::vector<T>{});
  });
  table.add(operation, Kind::wrong, "length and dtype", [=]<class T>(Check &check) {
    const auto with = [&](std::uint64_t n, tl_dtype dtype) {
      return [=](tl_buffer **out) { return generate(n, 1, dtype, out); };
    };
    check.refused("2^32 elements", with(std::uint64_t{1} << 32U, dtype_of<T>));
    check.refused("encoded", with(3, TL_ENCODED));
    check.refused("an unknown dtype", with(3, 9));
  });
}

}  // namespace

void add_random(Table &table) {
  add_uniform(table);
  add_normal(table);
  add_bernoulli(table);
  add_rest(table, TL_OP_rand_uniform,
           [](std::uint64_t n, std::uint64_t key, tl_dtype dtype, tl_buffer **out) {
             return tl_rand_uniform(n, key, dtype, out);
           });
  add_rest(table, TL_OP_rand_normal,
           [](std::uint64_t n, std::uint64_t key, tl_dtype dtype, tl_buffer **out) {
             return tl_rand_normal(n, 1, 2, key, dtype, out);
           });
  add_rest(table, TL_OP_bernoulli_mask,
           [](std::uint64_t n, std::uint64_t key, tl_dtype dtype, tl_buffer **out) {
             return tl_bernoulli_mask(n, 0.5, key, dtype, out);
           });
}

}  // namespace torchlean::conformance
