// What the core itself costs: one small operation through runtime.h on a backend that does nothing,
// its handle made and freed. The peer is a one-element at::add in the same run.
#include <benchmark/benchmark.h>
#include <torchlean/runtime.h>

#include <cstdio>
#include <cstdlib>

#ifdef HAVE_LIBTORCH
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#endif

namespace {

void require(tl_status status) {
  if (status == TL_OK) return;
  std::fprintf(stderr, "core_cost: %s\n", tl_last_error());
  std::exit(1);
}

tl_buffer *one_element() {
  static tl_backend *const backend = [] {
    tl_backend *opened = nullptr;
    require(tl_backend_open(NOTHING_BACKEND, "", &opened));
    return opened;
  }();
  tl_backend *former = tl_set_thread_backend(backend);
  tl_buffer *buffer = nullptr;
  require(tl_zeros(1, TL_FLOAT32, &buffer));
  tl_set_thread_backend(former);
  return buffer;
}

// Threads work on buffers of their own; what they share are the core's counters.
void core_unary(benchmark::State &state) {
  tl_buffer *x = one_element();
  for (auto _ : state) {
    tl_buffer *y = nullptr;
    require(tl_unary(TL_UNARY_ABS, x, &y));
    tl_buffer_free(y);
  }
  tl_buffer_free(x);
}
BENCHMARK(core_unary)->ThreadRange(1, 2)->UseRealTime();

void core_binary(benchmark::State &state) {
  tl_buffer *x = one_element();
  for (auto _ : state) {
    tl_buffer *y = nullptr;
    require(tl_binary(TL_BINARY_ADD, x, x, &y));
    tl_buffer_free(y);
  }
  tl_buffer_free(x);
}
BENCHMARK(core_binary)->ThreadRange(1, 2)->UseRealTime();

#ifdef HAVE_LIBTORCH
void aten_add(benchmark::State &state) {
  const c10::InferenceMode guard;
  const at::Tensor x = at::ones({1});
  for (auto _ : state) benchmark::DoNotOptimize(at::add(x, x));
}
BENCHMARK(aten_add)->ThreadRange(1, 2)->UseRealTime();
#endif

}  // namespace

BENCHMARK_MAIN();
