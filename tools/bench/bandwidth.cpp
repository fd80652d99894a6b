// Copies memory with ordinary and with non-temporal stores.
#include "bench/bandwidth.hpp"

#include "bench/turns.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <thread>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace torchlean::tools {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A cache line; copying it is four vector loads and stores, or two where vectors are wider.
struct alignas(line_bytes) Line {
  double words[line_bytes / sizeof(double)];
};

using Copy = void (*)(Line *to, const Line *from, std::size_t count);

void copy_plain(Line *to, const Line *from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = from[i];
    asm volatile("" ::: "memory");  // or the loop becomes memcpy, which chooses its stores itself
  }
}

#if defined(__SSE2__)
void copy_nontemporal(Line *to, const Line *from, std::size_t count) {
  constexpr std::size_t step = sizeof(__m128d) / sizeof(double);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < std::size(to->words); k += step) {
      _mm_stream_pd(to[i].words + k, _mm_load_pd(from[i].words + k));
    }
  }
  _mm_sfence();
}
#endif

// Pages of its own, huge ones where the system has them.
class Pages {
 public:
  explicit Pages(std::size_t lines)
      : bytes_(lines * sizeof(Line)),
        start_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (start_ == MAP_FAILED) throw std::bad_alloc();
    madvise(start_, bytes_, MADV_HUGEPAGE);
    std::fill_n(lines_here(), lines, Line{{1}});
  }
  ~Pages() { munmap(start_, bytes_); }
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;

  Line *lines_here() const { return static_cast<Line *>(start_); }

 private:
  std::size_t bytes_;
  void *start_;
};

// With one thread its processor time, as for the calls.
double seconds_of(Copy copy, const Pages &to, const Pages &from, std::size_t lines,
                  std::uint32_t threads) {
  const auto part = [&](std::uint32_t thread) {
    const std::size_t first = lines * thread / threads;
    const std::size_t end = lines * (thread + 1) / threads;
    copy(to.lines_here() + first, from.lines_here() + first, end - first);
  };
  const Moment start = now();
  std::vector<std::thread> others;
  for (std::uint32_t thread = 1; thread < threads; ++thread) others.emplace_back(part, thread);
  part(0);
  for (std::thread &other : others) other.join();
  const Moment end = now();
  return threads == 1 ? end.processor - start.processor : end.wall - start.wall;
}

}  // namespace

CopyBandwidth measure_copy_bandwidth(std::uint32_t threads, std::uint64_t cache_bytes,
                                     double seconds) {
  // Pages cost time, too: little time gives little memory.
  const auto affordable = static_cast<std::uint64_t>(seconds * 256) * mib;
  const std::uint64_t wanted = std::clamp(cache_bytes, 64 * mib, 256 * mib);
  const std::uint64_t bytes = std::clamp(affordable, 4 * mib, wanted);
  const std::size_t lines = bytes / sizeof(Line);
  const Pages from(lines);
  const Pages to(lines);
  CopyBandwidth best;
  const auto improve = [&](double &bandwidth, Copy copy) {
    const double time = seconds_of(copy, to, from, lines, threads);
    bandwidth = std::max(bandwidth, 2 * static_cast<double>(bytes) / time);
  };
  const double deadline = now().wall + seconds;
  do {
    improve(best.plain, copy_plain);
#if defined(__SSE2__)
    improve(best.nontemporal, copy_nontemporal);
#endif
  } while (now().wall < deadline);
  return best;
}

}  // namespace torchlean::tools
