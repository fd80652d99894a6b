/* A small program on the C API, run by the tests with environments of their own.
 *
 * Without arguments: prints the state, the serving backend, what one addition gave, and every
 * attempt. Arguments add to it or replace it: see main. */
#define _GNU_SOURCE
#include <torchlean/runtime.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_state(void) {
  tl_runtime_info info = {.struct_size = sizeof info};
  tl_backend_info backend = {.struct_size = sizeof backend};
  tl_get_runtime_info(&info);
  tl_get_backend_info(NULL, &backend);
  printf("state %u\nbackend %s\nbinding %s\nignored %s\nreason %s\n", (unsigned)info.state,
         backend.name, info.binding, info.ignored, info.reason);
}

static void print_sum(void) {
  const float words[] = {1.5F, 2.0F};
  float sum[2] = {0};
  tl_buffer *x = NULL, *y = NULL;
  tl_status status = tl_upload(words, sizeof words, TL_FLOAT32, TL_FLOAT32, &x);
  if (status == TL_OK) status = tl_binary(TL_BINARY_ADD, x, x, &y);
  if (status == TL_OK) status = tl_download(y, TL_FLOAT32, sum, sizeof sum);
  if (status == TL_OK) {
    printf("sum %g %g\n", (double)sum[0], (double)sum[1]);
  } else {
    printf("error %s: %s\n", tl_status_name(status), tl_last_error());
  }
  tl_buffer_free(x);
  tl_buffer_free(y);
}

static void print_attempts(void) {
  for (size_t i = 0; i < tl_attempt_count(); ++i) {
    tl_attempt attempt = {.struct_size = sizeof attempt};
    tl_get_attempt(i, &attempt);
    printf("attempt %s|%s|%s|%s|%u|%s\n", attempt.name, attempt.path, tl_stage_name(attempt.stage),
           tl_status_name(attempt.status), (unsigned)attempt.is_serving, attempt.reason);
  }
}

/* Files mapped into this process. */
static void print_maps(void) {
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    const char *path = strchr(line, '/');
    if (path != NULL) printf("mapped %s", path);
  }
  if (maps != NULL) fclose(maps);
}

static void *compute_for_ever(void *unused) {
  (void)unused;
  for (;;) {
    tl_buffer *x = NULL, *y = NULL;
    if (tl_full(1 << 18, 0.5, TL_FLOAT32, &x) == TL_OK && tl_unary(TL_UNARY_EXP, x, &y) == TL_OK) {
      tl_buffer_free(y);
    }
    tl_buffer_free(x);
  }
  return NULL;
}

static void *exit_on_thread(void *unused) {
  (void)unused;
  exit(7);
}

/* Ends the process in the given way while another thread computes. */
static int end_while_computing(const char *way) {
  pthread_t thread;
  tl_start();
  pthread_create(&thread, NULL, compute_for_ever, NULL);
  usleep(20000);
  if (strcmp(way, "return") == 0) return 7;
  if (strcmp(way, "exit") == 0) exit(7);
  if (strcmp(way, "quick_exit") == 0) quick_exit(7);
  if (strcmp(way, "signal") == 0) raise(SIGTERM);
  if (strcmp(way, "thread") == 0) {
    pthread_create(&thread, NULL, exit_on_thread, NULL);
    pause();
  }
  return 1;
}

static void *start(void *unused) {
  (void)unused;
  tl_start();
  return NULL;
}

/* L12: many threads start the runtime at once. */
static void start_on_threads(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, start, NULL);
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
}

/* P4: every call in the child returns a status, and nothing hangs. */
static int fork_and_call(void) {
  tl_buffer *x = NULL;
  tl_zeros(8, TL_FLOAT32, &x);
  pid_t child = fork();
  if (child == 0) {
    tl_buffer *y = NULL;
    tl_status status = tl_unary(TL_UNARY_ABS, x, &y);
    tl_buffer_free(x);
    fprintf(stderr, "%s\n", tl_last_error());
    _exit(status == TL_UNAVAILABLE && tl_zeros(1, TL_FLOAT32, &y) == TL_UNAVAILABLE ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  tl_buffer_free(x);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* P3: freeing and calling after shutdown. */
static int use_after_shutdown(void) {
  tl_buffer *x = NULL, *y = NULL;
  tl_zeros(8, TL_FLOAT32, &x);
  tl_shutdown();
  tl_shutdown();
  const tl_status status = tl_unary(TL_UNARY_ABS, x, &y);
  tl_buffer_free(x);
  tl_buffer_free(NULL);
  return status == TL_UNAVAILABLE ? 7 : 1;
}

/* What the runtime's status is after a failing operation. */
static int fail_once(void) {
  tl_buffer *x = NULL, *y = NULL;
  tl_zeros(8, TL_FLOAT32, &x);
  const tl_status status = tl_unary(TL_UNARY_NEG, x, &y);
  printf("%s, then status %d\n", tl_last_error(), (int)tl_runtime_status());
  tl_buffer_free(x);
  return status == TL_OK ? 1 : 0;
}

/* L6: opening one backend by name makes no choice of another. */
static int open_by_name(const char *name) {
  tl_backend *backend = NULL;
  if (tl_backend_open(name, "", &backend) != TL_OK) {
    printf("error %s\n", tl_last_error());
    return 1;
  }
  tl_set_thread_backend(backend);
  print_sum();
  print_attempts();
  print_maps();
  tl_set_thread_backend(NULL);
  tl_backend_close(backend);
  return 0;
}

/* L12: opens each in its turn, whatever became of those before, and keeps it. A line for each of
 * them says what came of it, and a second round whether it still computes. */
static int open_each(int count, char **names) {
  tl_backend *opened[16] = {NULL};
  if (count > 16) return 2;
  for (int i = 0; i < 2 * count; ++i) {
    tl_backend **backend = &opened[i % count];
    printf("%s %s: ", i < count ? "opened" : "again", names[i % count]);
    if (i < count && tl_backend_open(names[i], "cpu", backend) != TL_OK) {
      printf("%s\n", tl_last_error());
      continue;
    }
    if (*backend == NULL) {
      puts("not open");
      continue;
    }
    tl_set_thread_backend(*backend);
    print_sum();
    tl_set_thread_backend(NULL);
  }
  for (int i = 0; i < count; ++i) tl_backend_close(opened[i]);
  return 0;
}

/* Memory runs out while buffers of several operations are alive. */
static int exhaust_memory(void) {
  enum { count = 1 << 18 }; /* 1 MiB of float32 */
  tl_buffer *x = NULL, *y = NULL, *z = NULL, *none = NULL;
  tl_zeros(count, TL_FLOAT32, &x);
  tl_full(count, 0.5, TL_FLOAT64, &y);
  tl_unary(TL_UNARY_NEG, x, &z);
  for (int round = 0; round < 2; ++round) {
    tl_fail_allocations(1, 0);
    printf("%s\n", tl_status_name(tl_concat1d(x, z, count, count, &none)));
    tl_fail_allocations(0, 0);
    tl_buffer_release(y); /* the handle stays */
  }
  tl_buffer_free(x);
  tl_buffer_free(y);
  tl_buffer_free(z);
  return 0;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "fork") == 0) return fork_and_call();
  if (strcmp(what, "shutdown") == 0) return use_after_shutdown();
  if (strcmp(what, "open") == 0) return open_by_name(argv[2]);
  if (strcmp(what, "end") == 0) return end_while_computing(argv[2]);
  if (strcmp(what, "fail") == 0) return fail_once();
  if (strcmp(what, "each") == 0) return open_each(argc - 2, argv + 2);
  if (strcmp(what, "exhaust") == 0) return exhaust_memory();
  if (strcmp(what, "threads") == 0) start_on_threads();
  print_state();
  print_sum();
  print_attempts();
  if (strcmp(what, "maps") == 0) print_maps();
  return tl_runtime_status() == TL_NATIVE_AVAILABLE ? 0 : 1;
}
