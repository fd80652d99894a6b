/* What the tests of the Lean shim share: a Lean process, objects as Lean's compiler makes them,
 * checks. */
#ifndef TORCHLEAN_TESTS_LEAN_PROCESS_H
#define TORCHLEAN_TESTS_LEAN_PROCESS_H

#include <stdio.h>
#include <torchlean/runtime.h>

#include "symbols.h"

/* Ours in lean_abi.h, never a toolchain's: the tests reach into objects. */
#ifdef TORCHLEAN_HAS_LEAN_H
#error "compile the tests with TORCHLEAN_OWN_LEAN_ABI"
#endif

/* ---- Checks: a failed one is printed and counted, the test goes on -------------------------- */

void check(bool holds, const char *text, const char *file, int line);
void check_equal(double left, double right, const char *text, const char *file, int line);
void check_contains(const char *text, const char *part, const char *file, int line);

int failed_checks(void);

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(left, right) \
  check_equal((double)(left), (double)(right), #left " == " #right, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) check_contains((text), (part), __FILE__, __LINE__)

typedef struct {
  const char *name; /* the fact that it states */
  void (*run)(void);
} Test;

#define TEST(name) \
  { #name, name }

/* A process of its own that is expected to end inside `run`. */
typedef Test Scenario;

/* Starts Lean's runtime and runs all tests, or the scenario that the first argument names. Both
 * lists end with {0}. Returns the exit code. */
int run_tests(int argc, char **argv, const Test *tests, const Scenario *scenarios);

/* How a scenario of this program ended. */
typedef struct {
  int exit_code; /* -1 after a signal */
  char errors[2048];
} Ending;

/* Runs this program again with the scenario's name. */
Ending run_scenario(const char *name);

void start_lean(void);

/* Objects alive on Lean's heap, exactly. Other threads must be at rest. */
size_t live_lean_blocks(void);

/* ---- Objects -------------------------------------------------------------------------------- */

lean_object *make_floats(size_t count, const double *values);
lean_object *make_bytes(size_t count, const void *values);
/* An Array Nat; takes small numbers. */
lean_object *make_naturals(size_t count, const size_t *values);
lean_object *make_array(size_t count, lean_object *const *owned);

/* Releases each. */
void drop_all(size_t count, lean_object *const *objects);

/* A native buffer from doubles, and its values back (count of them); the buffer stays. */
lean_object *make_buffer(size_t count, const double *values, uint8_t dtype);
void read_buffer(lean_object *buffer, size_t count, double *values);

/* The value of a successful IO result, owned; takes the result over. */
lean_object *take_value(lean_object *result);

typedef struct {
  const char
      *constructor; /* "userError", "otherError", "resourceExhausted", "none" (it succeeded) */
  uint32_t code;    /* of the two latter */
  char text[2048];
} IoError;

/* Takes the result over. */
IoError take_error(lean_object *result);

#endif
