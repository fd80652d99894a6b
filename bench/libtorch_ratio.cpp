// A backend through runtime.h beside direct ATen calls, as ratios of times.
//
// Both take turns, in samples of some milliseconds; of each the fastest counts, since other
// programs on the machine only add time. Operands lie elsewhere in each turn: by where blocks lie a
// time changes by several percent. ATen computes in this process, where it shares the host memory
// of the libtorch backend, and in a second one, where it has its own as in any other program.
//
//   libtorch_ratio [TURNS [THREADS [BACKEND]]]
//
// default: 25 turns, as many threads as ATen takes, the libtorch backend
#include <torchlean/runtime.h>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <c10/core/InferenceMode.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "libtorch_ratio: %s\n", what);
  std::exit(1);
}

void require(tl_status status) {
  if (status != TL_OK) fail(tl_last_error());
}

// ---- What is compared ---------------------------------------------------------------------------

struct Operation {
  const char *name;
  tl_status (*ours)(const tl_buffer *, tl_buffer **);
  at::Tensor (*atens)(const at::Tensor &);
};

template <tl_unary_op op>
tl_status unary(const tl_buffer *x, tl_buffer **out) {
  return tl_unary(op, x, out);
}

template <tl_binary_op op>
tl_status binary(const tl_buffer *x, tl_buffer **out) {
  return tl_binary(op, x, x, out);
}

using T = const at::Tensor &;

const Operation add = {"add", binary<TL_BINARY_ADD>, [](T x) { return at::add(x, x); }};
const Operation subtract = {"sub", binary<TL_BINARY_SUB>, [](T x) { return at::sub(x, x); }};
const Operation multiply = {"mul", binary<TL_BINARY_MUL>, [](T x) { return at::mul(x, x); }};
const Operation divide = {"div", binary<TL_BINARY_DIV>, [](T x) { return at::div(x, x); }};
const Operation maximum = {"max", binary<TL_BINARY_MAX>, [](T x) { return at::maximum(x, x); }};
const Operation absolute = {"abs", unary<TL_UNARY_ABS>, [](T x) { return at::abs(x); }};
const Operation negate = {"neg", unary<TL_UNARY_NEG>, [](T x) { return at::neg(x); }};
const Operation round_down = {"floor", unary<TL_UNARY_FLOOR>, [](T x) { return at::floor(x); }};
const Operation invert = {"inv", unary<TL_UNARY_INV>, [](T x) { return at::reciprocal(x); }};
const Operation root = {"sqrt", unary<TL_UNARY_SQRT>, [](T x) { return at::sqrt(x); }};
const Operation relu = {"relu", unary<TL_UNARY_RELU>, [](T x) { return at::relu(x); }};
const Operation exponential = {"exp", unary<TL_UNARY_EXP>, [](T x) { return at::exp(x); }};
const Operation logarithm = {"log", unary<TL_UNARY_LOG>, [](T x) { return at::log(x); }};
const Operation sine = {"sin", unary<TL_UNARY_SIN>, [](T x) { return at::sin(x); }};
const Operation tangent = {"tanh", unary<TL_UNARY_TANH>, [](T x) { return at::tanh(x); }};
const Operation sum = {"reduce_sum", tl_reduce_sum, [](T x) { return at::sum(x); }};

struct Group {
  const char *title;
  int64_t elements;
  std::vector<Operation> operations;
};

const Group groups[] = {
    {"one element", 1, {add}},
    {"one to one, 100,000 elements",
     100'000,
     {add, subtract, multiply, divide, absolute, negate, round_down, invert, exponential, logarithm,
      sine, tangent, sum}},
    {"results of the input's size, 10,000,000 elements",
     10'000'000,
     {add, subtract, multiply, divide, maximum, absolute, negate, root, relu, exponential}},
};

// ---- Timing -------------------------------------------------------------------------------------

// With one thread its processor time, which other programs on the machine do not add to.
clockid_t clock_in_use = CLOCK_MONOTONIC;

void use_threads(int threads) {
  at::set_num_threads(threads);
  if (threads == 1) clock_in_use = CLOCK_THREAD_CPUTIME_ID;
}

double seconds() {
  timespec now;
  clock_gettime(clock_in_use, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds per call, in a sample of at least five milliseconds.
template <class Call>
double sample(Call call) {
  for (int64_t calls = 1;; calls *= 2) {
    const double start = seconds();
    for (int64_t i = 0; i < calls; ++i) call();
    const double time = seconds() - start;
    if (time > 5e-3) return time / static_cast<double>(calls);
  }
}

double atens_sample(const Operation &operation, T x) {
  const c10::InferenceMode guard;
  return sample([&] {
    const at::Tensor y = operation.atens(x);
    if (y.numel() == 0) fail("ATen returned nothing");
  });
}

double our_sample(const Operation &operation, const tl_buffer *x) {
  return sample([&] {
    tl_buffer *y = nullptr;
    require(operation.ours(x, &y));
    tl_buffer_free(y);
  });
}

// ---- The second process -------------------------------------------------------------------------

constexpr double value = 1.5;

at::Tensor operand(int64_t elements) { return at::full({elements}, value, at::kFloat); }

// Answers (group, operation) with a sample until its input ends.
void serve(int threads) {
  use_threads(threads);
  const Group *current = nullptr;
  at::Tensor x;
  for (uint32_t place[2]; read(STDIN_FILENO, place, sizeof place) == sizeof place;) {
    if (current != &groups[place[0]]) {
      current = &groups[place[0]];
      x = operand(current->elements);
    }
    const double time = atens_sample(current->operations[place[1]], x);
    if (write(STDOUT_FILENO, &time, sizeof time) != sizeof time) fail("the first process is gone");
  }
}

class SecondProcess {
 public:
  explicit SecondProcess(int threads) {
    const std::string number = std::to_string(threads);
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) fail("no pipe");
    child_ = fork();
    if (child_ == -1) fail("no second process");
    if (child_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int end : {to[0], to[1], from[0], from[1]}) close(end);
      execl("/proc/self/exe", "libtorch_ratio", "--serve", number.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }

  ~SecondProcess() {
    close(to_);
    waitpid(child_, nullptr, 0);
    close(from_);
  }

  double atens_sample(uint32_t group, uint32_t operation) const {
    const uint32_t place[2] = {group, operation};
    double time = 0;
    if (write(to_, place, sizeof place) != sizeof place ||
        read(from_, &time, sizeof time) != sizeof time)
      fail("the second process ended");
    return time;
  }

 private:
  pid_t child_;
  int to_;
  int from_;
};

// ---- Report -------------------------------------------------------------------------------------

void report(const SecondProcess &second, uint32_t group, int turns) {
  const Group &of = groups[group];
  std::printf("%s\n  %-12s%12s%28s%28s\n", of.title, "", "ours", "ATen here",
              "ATen in a second process");
  std::printf("  %-12s%12s%12s%16s%12s%16s\n", "", "us", "us", "ours / ATen", "us", "ATen / ours");
  double logarithms = 0;
  for (uint32_t i = 0; i < of.operations.size(); ++i) {
    const Operation &operation = of.operations[i];
    double ours = HUGE_VAL, here = HUGE_VAL, there = HUGE_VAL;
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<at::Tensor> in_the_way(static_cast<size_t>(turn) % 5);
      for (at::Tensor &block : in_the_way) block = operand(of.elements);
      const at::Tensor x = operand(of.elements);
      tl_buffer *buffer = nullptr;
      require(tl_full(static_cast<uint64_t>(of.elements), value, TL_FLOAT32, &buffer));
      in_the_way.clear();
      ours = std::min(ours, our_sample(operation, buffer));
      here = std::min(here, atens_sample(operation, x));
      there = std::min(there, second.atens_sample(group, i));
      tl_buffer_free(buffer);
    }
    logarithms += std::log(there / ours);
    std::printf("  %-12s%12.2f%12.2f%16.2f%12.2f%16.2f\n", operation.name, 1e6 * ours, 1e6 * here,
                ours / here, 1e6 * there, there / ours);
  }
  std::printf("  %-12s%68.2f\n", "geometric mean",
              std::exp(logarithms / static_cast<double>(of.operations.size())));
}

}  // namespace

int main(int count, char **arguments) {
  const auto number = [&](int argument, int otherwise) {
    return count > argument ? std::max(1, std::atoi(arguments[argument])) : otherwise;
  };
  if (count > 1 && std::strcmp(arguments[1], "--serve") == 0) {
    serve(number(2, 1));
    return 0;
  }
  const int turns = number(1, 25);
  const int threads = number(2, at::get_num_threads());
  const SecondProcess second(threads);
  use_threads(threads);
  tl_backend *backend = nullptr;
  require(tl_backend_open(count > 3 ? arguments[3] : LIBTORCH_BACKEND, "cpu", &backend));
  tl_set_thread_backend(backend);
  require(tl_set_num_threads(static_cast<uint32_t>(threads)));
  std::printf("%d threads, %s, the fastest of %d turns\n", threads,
              threads == 1 ? "processor time" : "time", turns);
  for (uint32_t group = 0; group < std::size(groups); ++group) report(second, group, turns);
  return 0;
}
