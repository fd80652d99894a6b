// Kernels broken on purpose: each mistake is caught, and the same kernel without it is clean.
//
//   broken_kernels_test NAME           0: the mistake was caught; 77: what catches it is not here
//   broken_kernels_test --names NAME…  0: these are the names of all
//   broken_kernels_test --run NAME broken|whole SCHEDULE    runs the kernel, in a process of its
//   own
//                                      since a sanitizer ends that
#include "block.cuh"
#include "emulation/sanitizers.hpp"
#include "support/process.hpp"

#include <sys/mman.h>

#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

namespace cuda = torchlean::cuda;
namespace sanitizer = torchlean::cuda::emulation::sanitizer;
using cuda::device::Stream;

// ---- The kernels, each whole or broken ---------------------------------------------------------

constexpr uint32_t threads = 64;

struct Row {
  float cells[threads];
};

// Every thread reads what its left neighbour wrote. In the natural order that one ran before.
template <bool broken>
void left_neighbour(float *out) {
  Row &row = cuda::shared<Row>();
  row.cells[threadIdx.x] = static_cast<float>(threadIdx.x);
  if constexpr (!broken) {
    __syncthreads();
  }
  out[threadIdx.x] = threadIdx.x == 0 ? -1 : row.cells[threadIdx.x - 1];
}

// The same within a warp: a shuffle brings the lanes together but orders no memory.
template <bool broken>
void left_lane(float *out) {
  Row &row = cuda::shared<Row>();
  row.cells[threadIdx.x] = static_cast<float>(threadIdx.x);
  if constexpr (broken) {
    __shfl_sync(cuda::all_lanes, 0, 0);
  } else {
    __syncwarp();
  }
  out[threadIdx.x] =
      threadIdx.x % 32 == 0 ? static_cast<float>(threadIdx.x) - 1 : row.cells[threadIdx.x - 1];
}

bool are_left_neighbours(const std::vector<float> &out) {
  for (uint32_t i = 0; i < threads; ++i) {
    if (out[i] != static_cast<float>(i) - 1) {
      return false;
    }
  }
  return true;
}

template <bool broken>
void negate(uint64_t n, float *out, const float *in) {
  for (uint64_t i = cuda::first_element(); broken ? i <= n : i < n; i += cuda::element_stride()) {
    out[i] = -in[i];
  }
}

template <bool broken>
void right_neighbour(float *out) {
  Row &row = cuda::shared<Row>();
  row.cells[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = broken || threadIdx.x + 1 < threads ? row.cells[threadIdx.x + 1] : -1;
}

template <bool broken>
void count_threads(unsigned *count) {
  if constexpr (broken) {
    *count += 1;
  } else {
    atomicAdd(count, 1u);
  }
}

template <bool broken>
void count_blocks(unsigned *count) {
  if (threadIdx.x == 0) {
    count_threads<broken>(count);
  }
}

// Offsets in bytes, in 32 bits.
template <bool broken>
void number(uint64_t n, float *out) {
  for (uint64_t i = cuda::first_element(); i < n; i += cuda::element_stride()) {
    const uint64_t offset = i * sizeof(float);
    const uint64_t used = broken ? static_cast<uint32_t>(offset) : offset;
    *reinterpret_cast<float *>(reinterpret_cast<std::byte *>(out) + used) =
        static_cast<float>(i % 1009) + 1;
  }
}

struct Count {
  unsigned value;
};

template <bool broken>
void count_in_shared_memory(unsigned *out) {
  Count &count = cuda::shared<Count>();
  if (!broken && threadIdx.x == 0) {
    count.value = 0;
  }
  __syncthreads();
  atomicAdd(&count.value, 1u);
  __syncthreads();
  if (threadIdx.x == 0) {
    *out = count.value;
  }
}

// Lanes past the end have left, but the mask still names them.
template <bool broken>
void vote_of_the_tail(uint32_t n, unsigned *out) {
  if (threadIdx.x >= n) {
    return;
  }
  const uint32_t first = threadIdx.x / 32 * 32;
  const uint32_t lanes = n - first < 32 ? n - first : 32;
  const uint32_t mask = broken || lanes == 32 ? cuda::all_lanes : (1u << lanes) - 1;
  const uint32_t votes = __ballot_sync(mask, threadIdx.x % 2 == 0);
  if (threadIdx.x == first) {
    out[first / 32] = votes;
  }
}

template <bool broken>
void barrier_for_some(float *out) {
  if (!broken || threadIdx.x < threads / 2) {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

// ---- Running them ------------------------------------------------------------------------------

// Each: whether the result is right.
bool run_left_neighbour(Stream &stream, bool broken) {
  std::vector<float> out(threads);
  cuda::launch_blocks(stream, "left_neighbour", {1, threads},
                      broken ? left_neighbour<true> : left_neighbour<false>, out.data());
  return are_left_neighbours(out);
}

bool run_left_lane(Stream &stream, bool broken) {
  std::vector<float> out(threads);
  cuda::launch_blocks(stream, "left_lane", {1, threads},
                      broken ? left_lane<true> : left_lane<false>, out.data());
  return are_left_neighbours(out);
}

bool run_negate(Stream &stream, bool broken) {
  const std::vector<float> in(1000, 1);
  std::vector<float> out(1000);
  cuda::launch(stream, "negate", 1000, broken ? negate<true> : negate<false>, out.data(),
               in.data());
  return out == std::vector<float>(1000, -1);
}

bool run_right_neighbour(Stream &stream, bool broken) {
  std::vector<float> out(threads);
  cuda::launch_blocks(stream, "right_neighbour", {1, threads},
                      broken ? right_neighbour<true> : right_neighbour<false>, out.data());
  return out[threads - 2] == threads - 1;
}

bool run_count_threads(Stream &stream, bool broken) {
  unsigned count = 0;
  cuda::launch_blocks(stream, "count_threads", {1, threads},
                      broken ? count_threads<true> : count_threads<false>, &count);
  return count == threads;
}

bool run_count_blocks(Stream &stream, bool broken) {
  unsigned count = 0;
  cuda::launch_blocks(stream, "count_blocks", {8, threads},
                      broken ? count_blocks<true> : count_blocks<false>, &count);
  return count == 8;
}

bool run_number(Stream &stream, bool broken) {
  constexpr uint64_t n = (uint64_t{1} << 31) + 300;  // floats: 8 GiB, of which a page is touched
  void *mapping = mmap(nullptr, n * sizeof(float), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw torchlean::Failure(TL_OUT_OF_MEMORY, "no address space");
  }
  auto *out = static_cast<float *>(mapping);
  stream.tail_blocks = 1;
  cuda::launch(stream, "number", n, broken ? number<true> : number<false>, out);
  bool right = true;
  for (uint64_t i = n - n % 256; i < n; ++i) {
    right = right && out[i] == static_cast<float>(i % 1009) + 1;
  }
  munmap(mapping, n * sizeof(float));
  return right;
}

bool run_count_in_shared_memory(Stream &stream, bool broken) {
  unsigned count = 0;
  cuda::launch_blocks(stream, "count_in_shared_memory", {1, threads},
                      broken ? count_in_shared_memory<true> : count_in_shared_memory<false>,
                      &count);
  return count == threads;
}

bool run_vote_of_the_tail(Stream &stream, bool broken) {
  std::vector<unsigned> out(2);
  cuda::launch_blocks(stream, "vote_of_the_tail", {1, threads},
                      broken ? vote_of_the_tail<true> : vote_of_the_tail<false>, 40u, out.data());
  return out == std::vector<unsigned>{0x55555555u, 0x55u};
}

bool run_barrier_for_some(Stream &stream, bool broken) {
  std::vector<float> out(threads);
  cuda::launch_blocks(stream, "barrier_for_some", {1, threads},
                      broken ? barrier_for_some<true> : barrier_for_some<false>, out.data());
  return out == std::vector<float>(threads, 1);
}

// ---- The list ----------------------------------------------------------------------------------

// What catches a mistake.
enum class Check {
  result,     // the result is wrong, at one of a few schedules
  emulation,  // the emulation refuses to go on
  addresses,  // the address sanitizer
  races,      // the thread sanitizer, though the result is right
};

struct Mistake {
  const char *name;
  Check check;
  const char *words;  // in what the check says
  bool (*run)(Stream &, bool broken);
};

const Mistake mistakes[] = {
    {"barrier_removed", Check::races, "left_neighbour", run_left_neighbour},
    {"barrier_removed_other_order", Check::result, "wrong", run_left_neighbour},
    {"shuffle_for_barrier", Check::races, "left_lane", run_left_lane},
    {"off_by_one_in_tail", Check::addresses, "heap-buffer-overflow", run_negate},
    {"off_by_one_in_shared_memory", Check::addresses, "use-after-poison", run_right_neighbour},
    {"race_between_threads", Check::races, "count_threads", run_count_threads},
    {"race_between_blocks", Check::races, "count_threads", run_count_blocks},
    {"index_overflow", Check::result, "wrong", run_number},
    {"uninitialised_shared_cell", Check::result, "wrong", run_count_in_shared_memory},
    {"wrong_tail_mask", Check::emulation, "with the mask 0xffffffff, but thread 40 has ended",
     run_vote_of_the_tail},
    {"divergent_barrier", Check::emulation, "but thread 32 has ended", run_barrier_for_some},
};

const Mistake *find(const std::string &name) {
  for (const Mistake &mistake : mistakes) {
    if (name == mistake.name) {
      return &mistake;
    }
  }
  std::cerr << "no mistake is called " << name << '\n';
  return nullptr;
}

constexpr int caught = 0;
constexpr int missed = 1;
constexpr int usage = 2;
constexpr int wrong_result = 10;
constexpr int refused = 11;
constexpr int not_applicable = 77;

int run(const Mistake &mistake, bool broken, uint64_t schedule) {
  Stream stream;
  stream.schedule = schedule;
  try {
    if (mistake.run(stream, broken)) {
      return 0;
    }
    std::cerr << "the result is wrong\n";
    return wrong_result;
  } catch (const torchlean::Failure &failure) {
    std::cerr << failure.what() << '\n';
    return refused;
  }
}

bool is_caught(const Mistake &mistake, const torchlean_test::Finished &finished) {
  const auto said = [&](const char *words) {
    return finished.err.find(words) != std::string::npos;
  };
  switch (mistake.check) {
    case Check::result: return finished.exit_code == wrong_result;
    case Check::emulation: return finished.exit_code == refused && said(mistake.words);
    case Check::addresses:
      return finished.exit_code != 0 && said("ERROR: AddressSanitizer") && said(mistake.words);
    default:
      return finished.exit_code != 0 && said("WARNING: ThreadSanitizer: data race") &&
             said(mistake.words);
  }
}

int judge(const char *program, const Mistake &mistake) {
  if (mistake.check == Check::addresses && !sanitizer::finds_overflows) {
    std::cout << mistake.name << ": not applicable: only the address sanitizer catches it\n";
    return not_applicable;
  }
  if (mistake.check == Check::races && !sanitizer::finds_races) {
    std::cout << mistake.name << ": not applicable: only the thread sanitizer catches it\n";
    return not_applicable;
  }
  // A result may be wrong in some order only; the others' mistakes show in every one.
  const uint64_t schedules = mistake.check == Check::result ? 4 : 1;
  // The thread sanitizer would end the process before the result is seen.
  std::map<std::string, std::string> environment;
  if (mistake.check == Check::result) {
    environment["TSAN_OPTIONS"] = "report_bugs=0";
  }
  bool found = false;
  for (uint64_t schedule = 0; schedule < schedules; ++schedule) {
    const auto finish = [&](const char *kind) {
      return torchlean_test::run({program, "--run", mistake.name, kind, std::to_string(schedule)},
                                 environment);
    };
    const torchlean_test::Finished whole = finish("whole");
    if (whole.exit_code != 0) {
      std::cout << mistake.name << ": the whole kernel at schedule " << schedule << " ends with "
                << whole.exit_code << ":\n"
                << whole.err;
      return missed;
    }
    const torchlean_test::Finished broken = finish("broken");
    found = found || is_caught(mistake, broken);
    if (!found && schedule + 1 == schedules) {
      std::cout << mistake.name << ": not caught; the broken kernel ends with " << broken.exit_code
                << ":\n"
                << broken.err;
    }
  }
  return found ? caught : missed;
}

bool are_all_names(char **names, int count) {
  bool all = count == static_cast<int>(std::size(mistakes));
  for (int i = 0; i < count; ++i) {
    all = all && find(names[i]) != nullptr;
  }
  return all;
}

}  // namespace

int main(int argc, char **argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--names") {
    return are_all_names(argv + 2, argc - 2) ? 0 : missed;
  }
  if (first == "--run" && argc == 5) {
    const Mistake *mistake = find(argv[2]);
    return mistake == nullptr
               ? usage
               : run(*mistake, std::strcmp(argv[3], "broken") == 0, std::stoull(argv[4]));
  }
  const Mistake *mistake = argc == 2 ? find(first) : nullptr;
  return mistake == nullptr ? usage : judge(argv[0], *mistake);
}
