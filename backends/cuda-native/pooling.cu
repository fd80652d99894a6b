// Pools: the largest entry of a window, the average, the smooth maximum; and their gradients.
//
// A gradient is gathered: each entry of the input sums, in a fixed order, what the windows over it
// give to it. What a window must know for that is found first, once for each window.
#include "pooling.cuh"

#include "accumulator.cuh"
#include "elementary.cuh"
#include "instance.hpp"
#include "operation_names.hpp"

namespace torchlean::cuda {

namespace {

// ---- One window, by the threads that share it ---------------------------------------------------

// A NaN stays.
struct Maximum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return is_nan(a) || a >= b ? a : b;
  }
};

struct Smaller {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return b < a ? b : a; }
};

// The index of the largest entry: the last NaN, else the first of those that tie.
template <class Threads, class T>
__device__ uint64_t winner(const Pool &pool, const Box &box, const T *channel) {
  constexpr uint64_t none = UINT64_MAX;
  uint64_t best = none;
  T largest_own = T(-elementary::infinity);
  pool.each_entry<Threads>(box, [&](uint64_t i) {
    const T entry = channel[i];
    if (best == none || is_nan(entry) || entry > largest_own) {
      best = i;
      largest_own = entry;
    }
  });
  if constexpr (std::is_same_v<Threads, ThreadPerRow>) {
    return best;
  } else {
    const T largest = Threads::fold(largest_own, Maximum());
    const bool wins = is_nan(largest) ? is_nan(largest_own) : largest_own == largest;
    // The last index is the smallest of the complements.
    const uint64_t flip = is_nan(largest) ? none : 0;
    return flip ^ Threads::fold(wins ? flip ^ best : none, Smaller());
  }
}

// (1/beta) log sum exp(beta x) of a window: the entry that maximises beta x, padding counting as 0,
// and sum exp(beta (x - pivot)).
struct Smooth {
  double pivot;
  double sum;
};

__device__ double exponential(double beta, double x, double pivot) {
  return elementary::exp(mul_rn(beta, sub_rn(x, pivot)));
}

template <class Threads, class T>
__device__ Smooth smooth(const Pool &pool, const Box &box, const T *channel, double beta) {
  const double sign = beta > 0.0 ? 1.0 : -1.0;
  const double padding = sub_rn(pool.volume(), static_cast<double>(box.size()));
  double pivot = padding > 0.0 ? 0.0 : -elementary::infinity;  // times the sign, until it is known
  pool.each_entry<Threads>(box, [&](uint64_t i) {
    pivot = Maximum()(pivot, mul_rn(sign, static_cast<double>(channel[i])));
  });
  pivot = mul_rn(sign, Threads::fold(pivot, Maximum()));
  Accumulator<T> sum;
  pool.each_entry<Threads>(
      box, [&](uint64_t i) { sum.add(exponential(beta, static_cast<double>(channel[i]), pivot)); });
  double total = Threads::fold(sum.value(), Add());
  if (padding > 0.0) {
    total = add_rn(total, mul_rn(padding, exponential(beta, 0.0, pivot)));
  }
  return {pivot, total};
}

// What each of a pool's kernels makes of a window; run by the threads that share it, written by one
// of them.

template <class T>
struct MaximumOf {
  template <class Threads>
  __device__ T operator()(const Pool &pool, const Box &box, const T *channel) const {
    return channel[winner<Threads>(pool, box, channel)];
  }
};

// A channel has less than 2^32 entries.
template <class T>
struct WinnerOf {
  template <class Threads>
  __device__ uint32_t operator()(const Pool &pool, const Box &box, const T *channel) const {
    return static_cast<uint32_t>(winner<Threads>(pool, box, channel));
  }
};

template <class T>
struct AverageOf {
  template <class Threads>
  __device__ T operator()(const Pool &pool, const Box &box, const T *channel) const {
    Accumulator<T> sum;
    pool.each_entry<Threads>(box, [&](uint64_t i) { sum.add(channel[i]); });
    return convert<T>(div_rn(Threads::fold(sum.value(), Add()), pool.volume()));
  }
};

template <class T>
struct SmoothOf {
  double beta;
  template <class Threads>
  __device__ Smooth operator()(const Pool &pool, const Box &box, const T *channel) const {
    return smooth<Threads>(pool, box, channel, beta);
  }
};

// An infinite pivot is the value: finite entries add nothing to it.
template <class T>
struct SmoothMaximumOf {
  double beta;
  template <class Threads>
  __device__ T operator()(const Pool &pool, const Box &box, const T *channel) const {
    const auto [pivot, sum] = smooth<Threads>(pool, box, channel, beta);
    return convert<T>(absolute(pivot) == elementary::infinity
                          ? pivot
                          : add_rn(pivot, div_rn(elementary::log(sum), beta)));
  }
};

template <class Threads, class Value, class Out, class T>
__global__ void windows_kernel(uint64_t windows, Out *out, const T *x, Pool pool, Value value) {
  for (uint64_t w = Threads::first_row(); w < windows; w += Threads::row_stride()) {
    const Pool::Window window = pool.window(w);
    const Out result = value.template operator()<Threads>(pool, window.box, x + window.start);
    if (Threads::index() == 0) {
      out[w] = result;
    }
  }
}

// ---- Gradients ----------------------------------------------------------------------------------

// What a window gives to entry x at this index of its channel.

template <class T>
struct MaximumShare {
  const uint32_t *winners;
  const T *g;
  __device__ double operator()(uint64_t window, uint64_t index, T) const {
    return winners[window] == index ? g[window] : T(0);
  }
};

template <class T>
struct AverageShare {
  const T *g;
  __device__ double operator()(uint64_t window, uint64_t, T) const { return g[window]; }
};

template <class T>
struct SmoothShare {
  const Smooth *maxima;
  const T *g;
  double beta;
  __device__ double operator()(uint64_t window, uint64_t, T x) const {
    const auto [pivot, sum] = maxima[window];
    const double weight = div_rn(exponential(beta, static_cast<double>(x), pivot), sum);
    return mul_rn(weight, static_cast<double>(g[window]));
  }
};

// out[i] = the sum of the shares of the windows over entry i, divided. No x: entries do not matter.
template <class Share, class T>
__global__ void gradient_kernel(uint64_t n, T *out, const T *x, Pool pool, Share share,
                                double divisor) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const T entry = x == nullptr ? T(0) : x[i];
    Accumulator<T> sum;
    pool.each_window_over(
        i, [&](uint64_t window, uint64_t index) { sum.add(share(window, index, entry)); });
    out[i] = convert<T>(div_rn(sum.value(), divisor));
  }
}

// ---- Entries ------------------------------------------------------------------------------------

// One call.
template <class T>
struct Call {
  tl_instance &instance;
  const char *operation;
  const PoolingShape &shape;

  // A value for each window.
  template <class Out, class Value>
  Result of_windows(const T *x, Value value) const {
    Result result(instance, operation, shape.output_count, sizeof(Out));
    uint64_t entries = 1;  // of a window, at most
    for (const SlidingAxis &axis : shape.axes) {
      entries *= static_cast<uint64_t>(std::min(axis.taps, axis.positions));
    }
    const auto run = [&]<class Threads>() {
      launch_rows<Threads>(*instance.stream, operation, shape.output_count,
                           &windows_kernel<Threads, Value, Out, T>, result.template elements<Out>(),
                           x, Pool(shape), value);
    };
    if (entries <= 64) {
      run.template operator()<ThreadPerRow>();
    } else if (entries <= 4096) {
      run.template operator()<WarpPerRow>();
    } else {
      run.template operator()<BlockPerRow>();
    }
    return result;
  }

  template <class Share>
  Result gradient(const T *x, Share share, double divisor = 1.0) const {
    Result result(instance, operation, shape.input_count, sizeof(T));
    launch(*instance.stream, operation, shape.input_count, &gradient_kernel<Share, T>,
           result.template elements<T>(), x, Pool(shape), share, divisor);
    return result;
  }
};

constexpr auto forward_names = operation_names<TL_POOLING_OP_COUNT>("forward", "pooling");
constexpr auto backward_names = operation_names<TL_POOLING_OP_COUNT>("backward", "pooling");

void forward(tl_instance *instance, tl_pooling_op op, const tl_operand *input,
             const tl_pooling_params *params, tl_flags, tl_storage **out) {
  const char *operation = name_of(forward_names, "pooling forward", op);
  with_native(operation, input->dtype, [&]<class T>() {
    const PoolingShape shape = checked_shape(operation, op, native_dtype<T>, *params);
    check_operand(operation, "input", *input, native_dtype<T>, shape.input_count);
    const Call<T> call{*instance, operation, shape};
    const T *x = elements<T>(*input);
    const double beta = shape.params.beta;
    Result result = op == TL_POOLING_MAX ? call.template of_windows<T>(x, MaximumOf<T>{})
                    : op == TL_POOLING_AVERAGE
                        ? call.template of_windows<T>(x, AverageOf<T>{})
                        : call.template of_windows<T>(x, SmoothMaximumOf<T>{beta});
    *out = result.hand_over();
  });
}

// Of all pointers, input alone may be NULL: for the average.
void backward(tl_instance *instance, tl_pooling_op op, const tl_operand *input,
              const tl_operand *gradient, const tl_pooling_params *params, tl_flags,
              tl_storage **out) {
  const char *operation = name_of(backward_names, "pooling backward", op);
  expect_given("instance", instance);
  expect_given("gradient", gradient);
  expect_given("params", params);
  expect_given("out", out);
  if (op != TL_POOLING_AVERAGE) {
    expect_given("input", input);
  }
  const tl_operand &first = op == TL_POOLING_AVERAGE ? *gradient : *input;
  with_native(operation, first.dtype, [&]<class T>() {
    const PoolingShape shape = checked_shape(operation, op, native_dtype<T>, *params);
    check_operand(operation, "gradient", *gradient, native_dtype<T>, shape.output_count);
    const Call<T> call{*instance, operation, shape};
    const T *g = elements<T>(*gradient);
    if (op == TL_POOLING_AVERAGE) {
      *out = call.gradient(nullptr, AverageShare<T>{g}, shape.volume).hand_over();
      return;
    }
    check_operand(operation, "input", *input, native_dtype<T>, shape.input_count);
    const T *x = elements<T>(*input);
    if (op == TL_POOLING_MAX) {
      const Result winners = call.template of_windows<uint32_t>(x, WinnerOf<T>{});
      const MaximumShare<T> share{winners.template elements<uint32_t>(), g};
      *out = call.gradient(nullptr, share).hand_over();
    } else {
      const double beta = shape.params.beta;
      const Result maxima = call.template of_windows<Smooth>(x, SmoothOf<T>{beta});
      const SmoothShare<T> share{maxima.template elements<Smooth>(), g, beta};
      *out = call.gradient(x, share).hand_over();
    }
  });
}

}  // namespace

const tl_pooling_table pooling_table = {
    .struct_size = sizeof(tl_pooling_table),
    .forward = entry<forward>,
    .backward = guarded<backward, translate>,
};

}  // namespace torchlean::cuda
