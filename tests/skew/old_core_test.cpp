// L8, B2, B6: a core that was compiled against the frozen headers opens the present backends. It
// hands them its own structures as they are, grown as by a later version and too small, enumerators
// that nobody knows, and memory that only it can free.
#include <doctest/doctest.h>

#include <dlfcn.h>
#include <torchlean/backend.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/listed.hpp"

namespace {

const std::vector<std::string> host_backends = torchlean_test::listed(HOST_BACKENDS);

// ---- The old core -------------------------------------------------------------------------------

std::atomic<std::int64_t> live_blocks{0};
std::atomic<std::int64_t> wrong_frees{0};
thread_local std::string error_text;

// Stands before each block, which so is none of malloc's: freed by anybody else it ends the
// process.
struct alignas(64) Header {
  std::uint64_t mark;
  std::size_t bytes;
};
constexpr std::uint64_t is_live = 0x6C697665;

void *allocate(std::size_t bytes) {
  ++live_blocks;
  auto *header = static_cast<Header *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
  *header = {is_live, bytes};
  return header + 1;
}

void release(void *block, std::size_t bytes) {
  if (block == nullptr) return;
  auto *header = static_cast<Header *>(block) - 1;
  if (header->mark != is_live || header->bytes != bytes) ++wrong_frees;
  header->mark = 0;
  --live_blocks;
  std::free(header);
}

// Knows no variable: as where a backend asks for one of a later version.
constexpr tl_host host = {
    .struct_size = sizeof(tl_host),
    .abi_version = TL_ABI_VERSION,
    .reserved = 0,
    .log = [](tl_log_level, const char *) {},
    .set_error = [](const char *text) { error_text = text; },
    .option = [](const char *) -> const char * { return nullptr; },
    .alloc = allocate,
    .free = release,
};

tl_storage *const untouched = reinterpret_cast<tl_storage *>(0x1234);

// A backend file, opened as the old core would.
class Opened {
 public:
  explicit Opened(const std::string &path) : file_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    REQUIRE_MESSAGE(file_ != nullptr, dlerror());
    const auto entry =
        reinterpret_cast<tl_backend_entry_fn>(dlsym(file_, "torchlean_backend_entry"));
    REQUIRE((entry != nullptr));
    table = entry(&host);
    REQUIRE(table != nullptr);
    CHECK(table->struct_size >= sizeof(BackendVTable));
    const tl_create_options options = {sizeof(tl_create_options), "", 1, 0, nullptr};
    REQUIRE(table->create(&options, &instance) == TL_OK);
  }
  ~Opened() {
    table->destroy(instance);
    // Never closed: a backend's threads may live on.
  }
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;

  tl_storage *upload(const std::vector<float> &values) const {
    tl_storage *made = nullptr;
    REQUIRE(table->transfer->upload(instance, values.data(), TL_FLOAT32, TL_FLOAT32, 4,
                                    values.size(), 0, &made) == TL_OK);
    return made;
  }

  const BackendVTable *table = nullptr;
  tl_instance *instance = nullptr;

 private:
  void *file_;
};

constexpr std::uint64_t count = 6;

template <class Table, class Entry>
bool has(const Table *family, Entry Table::*entry) {
  return family != nullptr && family->*entry != nullptr;
}

// ---- Calls with a structure ---------------------------------------------------------------------

// `run` makes the call with the structure at `params`; it has `outputs` results.
struct Call {
  const void *params;
  std::size_t size;
  std::size_t outputs;
  std::function<tl_status(const void *params, tl_storage **out)> run;
};

// Those that the backend has, on two operands of six elements and one of one.
struct Calls {
  explicit Calls(const Opened &opened)
      : backend(opened),
        x{opened.upload({1, 2, 3, 4, 5, 6}), count, TL_FLOAT32, 4},
        one{opened.upload({0.5F}), 1, TL_FLOAT32, 4} {}
  ~Calls() {
    backend.table->memory->release(backend.instance, x.storage);
    backend.table->memory->release(backend.instance, one.storage);
  }
  Calls(const Calls &) = delete;
  Calls &operator=(const Calls &) = delete;

  // Where the backend has the entry.
  template <class Table, class Entry, class Params, class Function>
  void add(const Table *family, Entry Table::*entry, const Params &params, std::size_t outputs,
           const Function &function) {
    if (!has(family, entry)) return;
    all.push_back({&params, sizeof params, outputs, [function](const void *given, auto **out) {
                     return function(static_cast<const Params *>(given), out);
                   }});
  }

  void fill();

  const Opened &backend;
  tl_operand x;
  tl_operand one;
  tl_scalars scalars = {sizeof scalars, {0.5, 0.75}};
  tl_adam_params adam = {sizeof adam, 0.9, 0.1, 0.99, 0.01, 1.5, 1.25, 1e-8, 0, -0.1};
  tl_broadcast_params broadcast = {sizeof broadcast, 2, 0, {6, 2}, {1, 0}};
  tl_broadcast_params adjoint = {sizeof adjoint, 2, 0, {2, 3}, {0, 1}};
  tl_bmm_params bmm = {sizeof bmm, 1, 2, 3, 2, 0, 0};
  tl_layer_norm_bwd_params layer_norm = {sizeof layer_norm, 1, 6, 6, 1.0 / 6};
  // Six output channels; one window on the first of six positions.
  tl_convolution_params convolution = {
      sizeof convolution, 1,         1,         6,         1,         1,         0,
      {1, 1, 6},          {1, 1, 1}, {1, 1, 6}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}};
  tl_pooling_params pooling = {sizeof pooling, 1,         {1, 1, 6}, {1, 1, 3},
                               {1, 1, 1},      {0, 0, 1}, {1, 1, 6}, 1.5};
  std::vector<Call> all;
};

void Calls::fill() {
  const BackendVTable &t = *backend.table;
  tl_instance *const i = backend.instance;
  using Out = tl_storage **;
  add(t.random, &tl_random_table::generate, scalars, 1, [=, &t](const auto *p, Out out) {
    return t.random->generate(i, TL_RANDOM_NORMAL, TL_FLOAT32, count, 1, p, 0, out);
  });
  add(t.elementwise, &tl_elementwise_table::unary, scalars, 1,
      [=, &t, this](const auto *p, Out out) {
        return t.elementwise->unary(i, TL_UNARY_CLAMP, &x, p, 0, out);
      });
  add(t.elementwise, &tl_elementwise_table::binary, scalars, 1,
      [=, &t, this](const auto *p, Out out) {
        return t.elementwise->binary(i, TL_BINARY_AXPY, &x, &x, p, 0, out);
      });
  add(t.optimizer, &tl_optimizer_table::adam_step, adam, 3, [=, &t, this](const auto *p, Out out) {
    return t.optimizer->adam_step(i, &x, &x, &x, &x, p, 0, out);
  });
  add(t.view, &tl_view_table::broadcast, broadcast, 1,
      [=, &t, this](const auto *p, Out out) { return t.view->broadcast(i, &x, p, 0, out); });
  add(t.reduction, &tl_reduction_table::sum_to_shape, adjoint, 1,
      [=, &t, this](const auto *p, Out out) {
        return t.reduction->sum_to_shape(i, &x, p, 3, 0, out);
      });
  add(t.matmul, &tl_matmul_table::bmm, bmm, 1,
      [=, &t, this](const auto *p, Out out) { return t.matmul->bmm(i, &x, &x, p, 0, out); });
  add(t.normalization, &tl_normalization_table::layer_norm_bwd, layer_norm, 3,
      [=, &t, this](const auto *p, Out out) {
        return t.normalization->layer_norm_bwd(i, &x, &x, &one, &x, p, 0, out);
      });
  add(t.convolution, &tl_convolution_table::forward, convolution, 1,
      [=, &t, this](const auto *p, Out out) {
        return t.convolution->forward(i, TL_CONVOLUTION, &x, &x, &x, p, 0, out);
      });
  add(t.convolution, &tl_convolution_table::backward, convolution, 3,
      [=, &t, this](const auto *p, Out out) {
        return t.convolution->backward(i, TL_CONVOLUTION, &x, &x, &x, p, 0, out);
      });
  add(t.pooling, &tl_pooling_table::forward, pooling, 1, [=, &t, this](const auto *p, Out out) {
    return t.pooling->forward(i, TL_POOLING_SMOOTH_MAX, &x, p, 0, out);
  });
  add(t.pooling, &tl_pooling_table::backward, pooling, 1, [=, &t, this](const auto *p, Out out) {
    return t.pooling->backward(i, TL_POOLING_SMOOTH_MAX, &x, &x, p, 0, out);
  });
}

// The structure with `size` as its struct_size, bytes that nobody knows behind it.
std::vector<std::byte> resized(const Call &call, std::size_t size) {
  const auto *first = static_cast<const std::byte *>(call.params);
  std::vector<std::byte> bytes(first, first + call.size);
  bytes.insert(bytes.end(), 256, std::byte{0xA5});
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes;
}

bool leaves_nothing(const std::function<tl_status(tl_storage **)> &run, tl_status expected) {
  tl_storage *out[4] = {untouched, untouched, untouched, untouched};
  const std::int64_t before = live_blocks;
  error_text.clear();
  const tl_status status = run(out);
  CHECK(status == expected);
  CHECK(live_blocks == before);
  bool is_unwritten = true;
  for (const tl_storage *storage : out) is_unwritten = is_unwritten && storage == untouched;
  CHECK(is_unwritten);
  return status == expected && is_unwritten && !error_text.empty();
}

// Visits every present backend.
template <class Visit>
void for_each_backend(const Visit &visit) {
  for (const std::string &path : host_backends) {
    CAPTURE(path);
    const Opened backend(path);
    const std::int64_t before = live_blocks;
    visit(backend);
    CHECK(live_blocks == before);
    CHECK(wrong_frees == 0);
  }
}

}  // namespace

TEST_CASE("B2: every block goes back to the core that gave it, with the size that was asked for") {
  for_each_backend([](const Opened &backend) {
    const std::int64_t before = live_blocks;
    const BackendVTable &t = *backend.table;
    tl_storage *first = backend.upload({1, 2, 3});
    CHECK(live_blocks > before);
    const tl_operand operand = {first, 3, TL_FLOAT32, 4};
    tl_storage *second = nullptr;
    REQUIRE(t.memory->copy(backend.instance, &operand, 0, &second) == TL_OK);
    t.memory->release(backend.instance, first);
    t.memory->release(backend.instance, second);
    if (t.device->empty_cache != nullptr) t.device->empty_cache(backend.instance);
    CHECK(live_blocks == before);
  });
}

TEST_CASE("L8: structures of the old core, and of a later one, are taken") {
  for_each_backend([](const Opened &backend) {
    Calls calls(backend);
    calls.fill();
    for (const Call &call : calls.all) {
      CAPTURE(call.size);
      for (const std::size_t more : {std::size_t{0}, std::size_t{8}, std::size_t{64}}) {
        const std::vector<std::byte> params = resized(call, call.size + more);
        tl_storage *out[4] = {};
        CHECK(call.run(params.data(), out) == TL_OK);
        for (std::size_t k = 0; k < call.outputs; ++k) {
          REQUIRE(out[k] != nullptr);
          backend.table->memory->release(backend.instance, out[k]);
        }
      }
    }
  });
}

TEST_CASE("L8: structures smaller than their first form are refused, and nothing is written") {
  for_each_backend([](const Opened &backend) {
    Calls calls(backend);
    calls.fill();
    CHECK(calls.all.size() >= 3);
    for (const Call &call : calls.all) {
      CAPTURE(call.size);
      for (const std::size_t size : {std::size_t{0}, std::size_t{8}, call.size - 8}) {
        const std::vector<std::byte> params = resized(call, size);
        CHECK(leaves_nothing([&](tl_storage **out) { return call.run(params.data(), out); },
                             TL_INVALID_ARGUMENT));
      }
    }
  });
}

TEST_CASE("L8: figures are written as far as the caller's structure goes") {
  for_each_backend([](const Opened &backend) {
    const tl_device_table &device = *backend.table->device;
    struct {
      tl_memory_info info;
      std::byte behind[16];
    } figures;
    for (const std::size_t size :
         {offsetof(tl_memory_info, peak_allocated_bytes), sizeof(tl_memory_info)}) {
      std::memset(static_cast<void *>(&figures), 0xA5, sizeof figures);
      figures.info.struct_size = size;
      REQUIRE(device.memory_info(backend.instance, &figures.info) == TL_OK);
      CHECK(figures.info.struct_size == size);
      const auto *bytes = reinterpret_cast<const unsigned char *>(&figures);
      for (std::size_t i = size; i < sizeof figures; ++i) {
        CAPTURE(i);
        CHECK(bytes[i] == 0xA5);
      }
    }
  });
}

TEST_CASE("B6: enumerators that a backend does not know are unsupported, and nothing is written") {
  for_each_backend([](const Opened &backend) {
    Calls calls(backend);
    const tl_operand *const x = &calls.x;
    const BackendVTable &t = *backend.table;
    tl_instance *const i = backend.instance;
    for (const std::uint32_t op : {1000U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
      CAPTURE(op);
      using Out = tl_storage **;
      const auto refused = [](const auto *family, auto entry, const auto &run) {
        if (has(family, entry)) CHECK(leaves_nothing(run, TL_UNSUPPORTED));
      };
      refused(t.random, &tl_random_table::generate, [&](Out out) {
        return t.random->generate(i, op, TL_FLOAT32, count, 1, &calls.scalars, 0, out);
      });
      refused(t.elementwise, &tl_elementwise_table::unary,
              [&](Out out) { return t.elementwise->unary(i, op, x, &calls.scalars, 0, out); });
      refused(t.elementwise, &tl_elementwise_table::binary,
              [&](Out out) { return t.elementwise->binary(i, op, x, x, &calls.scalars, 0, out); });
      refused(t.elementwise, &tl_elementwise_table::select_bwd,
              [&](Out out) { return t.elementwise->select_bwd(i, op, x, x, x, 0, out); });
      refused(t.reduction, &tl_reduction_table::reduce,
              [&](Out out) { return t.reduction->reduce(i, op, x, 2, 3, 1, 0, out); });
      refused(t.reduction, &tl_reduction_table::row_mask,
              [&](Out out) { return t.reduction->row_mask(i, op, x, 2, 3, 1, 0, out); });
      refused(t.loss, &tl_loss_table::loss,
              [&](Out out) { return t.loss->loss(i, op, x, x, 2, 3, 0, out); });
      refused(t.fourier, &tl_fourier_table::transform,
              [&](Out out) { return t.fourier->transform(i, op, x, 1, 6, 0, out); });
      refused(t.scan, &tl_scan_table::forward,
              [&](Out out) { return t.scan->forward(i, op, x, x, x, x, 1, 6, 0, out); });
      refused(t.scan, &tl_scan_table::backward,
              [&](Out out) { return t.scan->backward(i, op, x, x, x, x, x, x, 1, 6, 0, out); });
      refused(t.convolution, &tl_convolution_table::forward, [&](Out out) {
        return t.convolution->forward(i, op, x, x, x, &calls.convolution, 0, out);
      });
      refused(t.convolution, &tl_convolution_table::backward, [&](Out out) {
        return t.convolution->backward(i, op, x, x, x, &calls.convolution, 0, out);
      });
      refused(t.pooling, &tl_pooling_table::forward,
              [&](Out out) { return t.pooling->forward(i, op, x, &calls.pooling, 0, out); });
      refused(t.pooling, &tl_pooling_table::backward,
              [&](Out out) { return t.pooling->backward(i, op, x, x, &calls.pooling, 0, out); });
      refused(t.memory, &tl_memory_table::fill,
              [&](Out out) { return t.memory->fill(i, op, 4, count, 0, 0, out); });
      CHECK(t.supports(i, op, TL_FLOAT32) == TL_UNSUPPORTED);
      CHECK(t.supports(i, TL_OP_add, op) == TL_UNSUPPORTED);
      CHECK(t.device->set_setting(i, op, 1) == TL_UNSUPPORTED);
    }
  });
}
