/* A Lean process, its objects, and checks; see lean_process.h. */
#define _GNU_SOURCE
#include "lean_process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Checks --------------------------------------------------------------------------------- */

static int failures;

void check(bool holds, const char *text, const char *file, int line) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
}

void check_equal(double left, double right, const char *text, const char *file, int line) {
  if (left == right) return;
  ++failures;
  fprintf(stderr, "%s:%d: does not hold: %s (%.17g, %.17g)\n", file, line, text, left, right);
}

void check_contains(const char *text, const char *part, const char *file, int line) {
  if (strstr(text, part) != NULL) return;
  ++failures;
  fprintf(stderr, "%s:%d: \"%s\" does not contain \"%s\"\n", file, line, text, part);
}

int failed_checks(void) { return failures; }

int run_tests(int argc, char **argv, const Test *tests, const Scenario *scenarios) {
  start_lean();
  if (argc > 1) {
    for (const Scenario *scenario = scenarios; scenario->name != NULL; ++scenario) {
      if (strcmp(scenario->name, argv[1]) == 0) {
        scenario->run();
        fprintf(stderr, "the scenario went on\n");
        return 99;
      }
    }
    fprintf(stderr, "unknown scenario %s\n", argv[1]);
    return 98;
  }
  for (const Test *test = tests; test->name != NULL; ++test) {
    const int before = failures;
    test->run();
    printf("%s %s\n", failures == before ? "ok    " : "FAILED", test->name);
  }
  return failures == 0 ? 0 : 1;
}

Ending run_scenario(const char *name) {
  Ending ending = {.exit_code = -1};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    execl("/proc/self/exe", "scenario", name, (char *)NULL);
    _exit(97);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got = 0;
  char rest[256]; /* a full text must not block the child */
  do {
    const size_t room = sizeof ending.errors - 1 - length;
    got = read(ends[0], room > 0 ? ending.errors + length : rest, room > 0 ? room : sizeof rest);
    if (got > 0 && room > 0) length += (size_t)got;
  } while (got > 0);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) ending.exit_code = WEXITSTATUS(status);
  return ending;
}

/* ---- Lean ----------------------------------------------------------------------------------- */

void lean_initialize_runtime_module(void);
void lean_io_mark_end_initialization(void);
void lean_init_task_manager(void);

void start_lean(void) {
  lean_initialize_runtime_module();
  lean_io_mark_end_initialization();
  lean_init_task_manager();
}

/* Of Lean's allocator, mimalloc: visits each block of a heap, and each area once with no block. */
typedef bool (*BlockVisitor)(const void *heap, const void *area, void *block, size_t size,
                             void *context);
void *mi_heap_main(void);
bool mi_heap_visit_blocks(void *heap, bool visit_blocks, BlockVisitor visitor, void *context);

static bool count_block(const void *heap, const void *area, void *block, size_t size,
                        void *context) {
  (void)heap;
  (void)area;
  (void)size;
  if (block != NULL) ++*(size_t *)context;
  return true;
}

size_t live_lean_blocks(void) {
  size_t count = 0;
  CHECK(mi_heap_visit_blocks(mi_heap_main(), true, count_block, &count));
  return count;
}

/* ---- Objects -------------------------------------------------------------------------------- */

lean_object *make_floats(size_t count, const double *values) {
  lean_object *array = lean_alloc_sarray(sizeof(double), count, count);
  if (count > 0) memcpy(lean_sarray_cptr(array), values, count * sizeof(double));
  return array;
}

lean_object *make_bytes(size_t count, const void *values) {
  lean_object *array = lean_alloc_sarray(1, count, count);
  if (count > 0) memcpy(lean_sarray_cptr(array), values, count);
  return array;
}

lean_object *make_array(size_t count, lean_object *const *owned) {
  lean_abi_array_object *array = (lean_abi_array_object *)(void *)lean_abi_make(
      sizeof *array + count * sizeof(lean_object *), lean_abi_array, 0);
  array->size = count;
  array->capacity = count;
  for (size_t i = 0; i < count; ++i) array->elements[i] = owned[i];
  return &array->header;
}

lean_object *make_naturals(size_t count, const size_t *values) {
  lean_object *boxed[128];
  for (size_t i = 0; i < count; ++i) boxed[i] = lean_box(values[i]);
  return make_array(count, boxed);
}

void drop_all(size_t count, lean_object *const *objects) {
  for (size_t i = 0; i < count; ++i) lean_dec(objects[i]);
}

lean_object *make_buffer(size_t count, const double *values, uint8_t dtype) {
  lean_object *array = make_floats(count, values);
  lean_object *buffer = torchlean_cuda_buffer_of_float_array(array, dtype);
  lean_dec(array);
  return buffer;
}

void read_buffer(lean_object *buffer, size_t count, double *values) {
  lean_object *array = torchlean_cuda_buffer_to_float_array(buffer);
  CHECK_EQUAL(lean_sarray_size(array), count);
  if (lean_sarray_size(array) == count) {
    memcpy(values, lean_sarray_cptr(array), count * sizeof(double));
  }
  lean_dec(array);
}

lean_object *take_value(lean_object *result) {
  if (lean_ptr_tag(result) != 0) {
    const IoError error = take_error(result);
    check(false, error.text, __FILE__, __LINE__);
    return lean_box(0);
  }
  lean_object *value = lean_ctor_get(result, 0);
  lean_inc(value);
  lean_dec(result);
  return value;
}

/* Constructor numbers of Lean's IO.Error. */
enum { other_error = 1, resource_exhausted = 14, user_error = 18 };

static uint32_t read_code(lean_object *error, unsigned object_fields) {
  uint32_t code = 0;
  memcpy(&code, lean_ctor_obj_cptr(error) + object_fields, sizeof code);
  return code;
}

IoError take_error(lean_object *result) {
  IoError taken = {.constructor = "none"};
  if (lean_ptr_tag(result) == 1) {
    lean_object *error = lean_ctor_get(result, 0);
    lean_object *details = NULL;
    switch (lean_ptr_tag(error)) {
      case user_error: /* (message) */
        taken.constructor = "userError";
        details = lean_ctor_get(error, 0);
        break;
      case other_error: /* (code, details) */
        taken.constructor = "otherError";
        taken.code = read_code(error, 1);
        details = lean_ctor_get(error, 0);
        break;
      case resource_exhausted: /* (file name, code, details) */
        taken.constructor = "resourceExhausted";
        taken.code = read_code(error, 2);
        details = lean_ctor_get(error, 1);
        break;
      default: taken.constructor = "unknown";
    }
    if (details != NULL) {
      snprintf(taken.text, sizeof taken.text, "%s", lean_string_cstr(details));
    }
  }
  lean_dec(result);
  return taken;
}
