// Float inputs of the kernels' elementary functions, against the reference's, which are correctly
// rounded: a sample or, with --all or TL_TEST_LONG=1, all 2^32.
//
//   elementary_sweep [--all] [FUNCTION...]
//
// A line for each function says how many results are the nearest float, how many the one beside it,
// and how many are farther away; the exit code is 1 where any is more than 2 ulp away.
#include "elementary.cuh"
#include "reference/correctly_rounded.hpp"
#include "support/oracle.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace cuda = torchlean::cuda;
namespace reference = torchlean::reference::correctly_rounded;

namespace {

constexpr uint64_t all_inputs = uint64_t{1} << 32;

// How many floats lie from one to the other: more than there are where just one is NaN.
uint64_t distance_of(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : all_inputs;
  return static_cast<uint64_t>(torchlean::test::steps(a, b));
}

struct Tally {
  uint64_t inputs = 0, nearest = 0, beside = 0, farther = 0, most = 0;
  uint32_t worst = 0;  // the input that is `most` floats away

  void take_in(const Tally &other) {
    inputs += other.inputs;
    nearest += other.nearest;
    beside += other.beside;
    farther += other.farther;
    if (other.most > most) {
      most = other.most;
      worst = other.worst;
    }
  }
};

template <float (*ours)(float), const reference::Elementary &theirs>
Tally walk(uint64_t from, uint64_t to, uint64_t stride) {
  Tally tally;
  for (uint64_t bits = from; bits < to; bits += stride) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const uint64_t distance = distance_of(ours(x), theirs(x));
    ++tally.inputs;
    ++(distance == 0 ? tally.nearest : distance == 1 ? tally.beside : tally.farther);
    if (distance > tally.most) {
      tally.most = distance;
      tally.worst = static_cast<uint32_t>(bits);
    }
  }
  return tally;
}

struct Function {
  const char *name;
  Tally (*walk)(uint64_t from, uint64_t to, uint64_t stride);
};

const Function functions[] = {
    {"exp", walk<cuda::elementary::exp, reference::exp>},
    {"log", walk<cuda::elementary::log, reference::log>},
    {"log1p", walk<cuda::elementary::log1p, reference::log1p>},
    {"sin", walk<cuda::elementary::sin, reference::sin>},
    {"cos", walk<cuda::elementary::cos, reference::cos>},
    {"tanh", walk<cuda::elementary::tanh, reference::tanh>},
};

// On every processor, range by range.
Tally sweep(const Function &function, uint64_t stride) {
  constexpr uint64_t ranges = 256, size = all_inputs / ranges;
  std::atomic<uint64_t> next{0};
  std::vector<Tally> tallies(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  threads.reserve(tallies.size());
  for (Tally &tally : tallies)
    threads.emplace_back([&] {
      for (uint64_t i = next++; i < ranges; i = next++) {
        tally.take_in(function.walk(i * size + i % stride, (i + 1) * size, stride));
        if (isatty(STDERR_FILENO) != 0)
          std::fprintf(stderr, "\r%s: %3.0f %%\r", function.name,
                       100.0 * static_cast<double>(i + 1) / ranges);
      }
    });
  Tally sum;
  for (size_t t = 0; t < threads.size(); ++t) {
    threads[t].join();
    sum.take_in(tallies[t]);
  }
  return sum;
}

int usage() {
  std::fputs("usage: elementary_sweep [--all] [exp|log|log1p|sin|cos|tanh]...\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char **arguments) {
  const char *const is_long = std::getenv("TL_TEST_LONG");
  uint64_t stride = is_long != nullptr && *is_long == '1' ? 1 : 12'347;
  std::vector<Function> chosen;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--all") == 0) {
      stride = 1;
      continue;
    }
    const auto found = std::find_if(std::begin(functions), std::end(functions), [&](const auto &f) {
      return std::string_view(f.name) == arguments[i];
    });
    if (found == std::end(functions)) return usage();
    chosen.push_back(*found);
  }
  if (chosen.empty()) chosen.assign(std::begin(functions), std::end(functions));
  bool good = true;
  for (const Function &function : chosen) {
    const std::clock_t start = std::clock();
    const Tally tally = sweep(function, stride);
    std::printf(
        "%-6s %lu inputs, %lu nearest, %lu beside it, %lu farther; most %lu at %a; %.0f s\n",
        function.name, tally.inputs, tally.nearest, tally.beside, tally.farther, tally.most,
        static_cast<double>(std::bit_cast<float>(tally.worst)),
        static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    std::fflush(stdout);
    good = good && tally.most <= 2;
  }
  return good ? 0 : 1;
}
