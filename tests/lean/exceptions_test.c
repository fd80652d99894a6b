/* C++ exceptions in a Lean process come back as statuses, or the backend is refused beforehand
 * (rule B5). This one source is linked in four ways; see CMakeLists.txt.
 *
 *   exceptions_<way> core|throwing|libtorch local|deep|refused <second plugin>
 *
 * The first argument says who throws, the second how C++ backends must have been opened. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <torchlean/backend.h>

#include "lean_process.h"

#ifdef TL_TEST_OTHER_CXX_LIBRARY
/* A C++ library of the program's own, there before the runtime starts. */
int other_cxx_library(int number);
#endif

static void expect_error(lean_object *result, const char *constructor, const char *part) {
  const IoError error = take_error(result);
  CHECK_CONTAINS(error.constructor, constructor);
  CHECK_CONTAINS(error.text, part);
}

static void expect_refusal_with_the_remedy(void) {
  CHECK_EQUAL(torchlean_cuda_runtime_status(0), TL_NOT_LINKED);
  expect_error(torchlean_cuda_buffer_rand_uniform_io(4, 0, TL_FLOAT32), "otherError",
               "-l:libgcc_s.so.1");
}

/* Started with a TORCHLEAN_BACKEND that names no file: the core's own code throws and catches. */
static void the_core_throws(void) {
  CHECK_EQUAL(torchlean_cuda_runtime_status(0), TL_NOT_LINKED);
  const char *asked = getenv("TORCHLEAN_BACKEND");
  CHECK(asked != NULL);
  expect_error(torchlean_cuda_buffer_zeros_io(4, TL_FLOAT32), "otherError", asked);
  tl_backend *backend = NULL;
  CHECK(tl_backend_open("/nonexistent/folder/x.so", NULL, &backend) != TL_OK);
  CHECK_CONTAINS(tl_last_error(), "/nonexistent/folder/x.so");
  CHECK(tl_backend_open("/proc/self/status", NULL, &backend) != TL_OK); /* no ELF file */
  CHECK_CONTAINS(tl_last_error(), "/proc/self/status");
  CHECK(tl_backend_open("no-such-name", NULL, &backend) != TL_OK);
  CHECK(backend == NULL);
}

/* The plugin throws and catches inside: its own exception, one of libstdc++'s, one on a thread. */
static void expect_what_the_plugin_throws(void) {
  expect_error(torchlean_cuda_buffer_rand_uniform_io(4, 0, TL_FLOAT32), "otherError",
               "thrown by the backend itself");
  expect_error(torchlean_cuda_buffer_rand_uniform_io(4, 1, TL_FLOAT32), "otherError",
               "basic_string::at");
  expect_error(torchlean_cuda_buffer_rand_uniform_io(4, 2, TL_FLOAT32), "otherError",
               "thrown on a thread");
}

static void a_backend_throws(const char *second_path) {
  expect_what_the_plugin_throws();
  /* The first C++ backend brought libstdc++ along, bound as it should be: the next one fares alike.
   */
  tl_backend *second = NULL;
  CHECK_EQUAL(tl_backend_open(second_path, NULL, &second), TL_OK);
  if (second == NULL) {
    fprintf(stderr, "%s\n", tl_last_error());
    return;
  }
  tl_set_thread_backend(second);
  expect_what_the_plugin_throws();
  tl_set_thread_backend(NULL);
  tl_backend_close(second);
}

/* ---- ATen's own throws ---------------------------------------------------------------------- */

static void limit_memory(void) {
  const struct rlimit room = {8ull << 30, 8ull << 30};
  CHECK_EQUAL(setrlimit(RLIMIT_AS, &room), 0);
}

static char last_text[4096];

static void ignore_log(tl_log_level level, const char *text) {
  (void)level;
  (void)text;
}
static void keep_error(const char *text) { snprintf(last_text, sizeof last_text, "%s", text); }
static const char *option_of(const char *name) {
  for (size_t i = 0; i < tl_variable_count(); ++i) {
    tl_variable variable = {.struct_size = sizeof variable};
    if (tl_get_variable(i, &variable) == TL_OK && strcmp(variable.name, name) == 0) {
      return variable.value;
    }
  }
  return NULL;
}
static void *give_memory(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }
static void take_memory(void *block, size_t bytes) {
  (void)bytes;
  free(block);
}

static const tl_host own_host = {.struct_size = sizeof own_host,
                                 .abi_version = TL_ABI_VERSION,
                                 .log = ignore_log,
                                 .set_error = keep_error,
                                 .option = option_of,
                                 .alloc = give_memory,
                                 .free = take_memory};

static tl_operand upload(const BackendVTable *table, tl_instance *instance, uint64_t count) {
  static const float zeros[16];
  tl_operand operand = {.count = count, .dtype = TL_FLOAT32, .width = sizeof(float)};
  CHECK_EQUAL(table->transfer->upload(instance, zeros, TL_FLOAT32, TL_FLOAT32, operand.width, count,
                                      0, &operand.storage),
              TL_OK);
  return operand;
}

/* What the core's checks keep from a backend: sizes that do not fit. The file is open
 * already, in the core's way; this only finds its table. It is the last thing that this process
 * does with the backend, since its texts now go to this file's host. */
static void the_table_throws(const char *path) {
  void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  CHECK(file != NULL);
  if (file == NULL) return;
  tl_backend_entry_fn entry = NULL;
  void *symbol = dlsym(file, "torchlean_backend_entry");
  memcpy(&entry, &symbol, sizeof entry);
  const BackendVTable *table = entry(&own_host);
  tl_instance *instance = NULL;
  const tl_create_options options = {.struct_size = sizeof options, .device = "cpu"};
  CHECK_EQUAL(table->create(&options, &instance), TL_OK);
  const tl_bmm_params params = {.struct_size = sizeof params, .batch = 1, .m = 2, .n = 3, .p = 2};

  tl_operand five = upload(table, instance, 5);
  tl_operand six = upload(table, instance, 6);
  tl_storage *out = NULL;
  CHECK(table->matmul->bmm(instance, &five, &six, &params, 0, &out) != TL_OK);
  CHECK_CONTAINS(last_text, "invalid for input of size 5"); /* ATen's words */
  CHECK(out == NULL);
  tl_operand other = upload(table, instance, 6);
  CHECK_EQUAL(table->matmul->bmm(instance, &six, &other, &params, 0, &out), TL_OK);
  if (out != NULL) table->memory->release(instance, out);
  tl_operand *operands[] = {&five, &six, &other};
  for (size_t i = 0; i < 3; ++i) table->memory->release(instance, operands[i]->storage);
  table->destroy(instance);
}

static void libtorch_throws(void) {
  CHECK_EQUAL(torchlean_cuda_runtime_status(0), TL_NATIVE_AVAILABLE);
  limit_memory();
  expect_error(torchlean_cuda_buffer_full_io(UINT32_MAX, 1, TL_FLOAT64), "resourceExhausted", "");
  lean_dec(take_value(torchlean_cuda_buffer_full_io(16, 1, TL_FLOAT64)));
  tl_attempt attempt = {.struct_size = sizeof attempt};
  for (size_t i = 0; i < tl_attempt_count(); ++i) {
    if (tl_get_attempt(i, &attempt) == TL_OK && attempt.is_serving) break;
  }
  CHECK(attempt.is_serving);
  the_table_throws(attempt.path);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
#ifdef TL_TEST_OTHER_CXX_LIBRARY
  CHECK_EQUAL(other_cxx_library(123), 3);
#endif
  start_lean();
  tl_runtime_info info = {.struct_size = sizeof info};
  CHECK_EQUAL(tl_start(), TL_OK);
  CHECK_EQUAL(tl_get_runtime_info(&info), TL_OK);
  CHECK_CONTAINS(info.binding, argv[2]);
  if (strcmp(argv[1], "core") == 0) {
    the_core_throws();
  } else if (strcmp(argv[2], "refused") == 0) {
    expect_refusal_with_the_remedy();
  } else if (strcmp(argv[1], "throwing") == 0) {
    a_backend_throws(argv[3]);
  } else {
    libtorch_throws();
  }
  return failed_checks() == 0 ? 0 : 1;
}
