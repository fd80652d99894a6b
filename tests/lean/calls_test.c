/* Every symbol of symbols.tsv, called once as calls.tsv says: the backend is asked for the right
 * operation with the arguments that Lean gave; references balance and nothing stays on Lean's heap,
 * after success, after a failure of the backend, and after an argument of the wrong class.
 *
 * Runs with TORCHLEAN_ON_ERROR=poison, so that failures of pure symbols come back. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../plugins/counting/counting.h"
#include "lean_process.h"

typedef union {
  lean_object *object;
  uint8_t u8;
  uint32_t u32;
  uint64_t u64;
  double f64;
} Value;

typedef struct {
  const char *name;
  const char *result;
  const char *parameters; /* "B a, f64 c" */
  bool is_io;
  Value (*call)(const Value *in);
} Symbol;

#include "calls.inc"

enum {
  symbol_count = sizeof symbols / sizeof *symbols,
  most_parameters = 16,
  most_entries = 16,
  text_size = 512
};

/* A row of calls.tsv; the texts point into the file's content. */
typedef struct {
  char *name;
  char *arguments;
  char *result;
  char *log;
} Row;

static char content[1 << 16];
static Row rows[256];
static size_t row_count;
static const counting_table *counting;

static void explain(const char *symbol, const char *what, const char *expected, const char *got) {
  fprintf(stderr, "%s: %s is \"%s\", expected \"%s\"\n", symbol, what, got, expected);
}

static void check_text(const char *symbol, const char *what, const char *expected,
                       const char *got) {
  if (strcmp(expected, got) == 0) return;
  explain(symbol, what, expected, got);
  check(false, what, symbol, 0);
}

static void check_part(const char *symbol, const char *what, const char *part, const char *got) {
  if (strstr(got, part) != NULL) return;
  explain(symbol, what, part, got);
  check(false, what, symbol, 0);
}

/* ---- The table of calls --------------------------------------------------------------------- */

/* Cuts the text at the separator; returns what follows, "" where there is none. */
static char *cut(char *text, char separator) {
  char *end = strchr(text, separator);
  if (end == NULL) return text + strlen(text);
  *end = '\0';
  return end + 1;
}

static void read_rows(void) {
  FILE *file = fopen(CALLS, "r");
  if (file == NULL) exit(96);
  const size_t length = fread(content, 1, sizeof content - 1, file);
  fclose(file);
  CHECK(length < sizeof content - 1);
  for (char *line = content; *line != '\0';) {
    char *next = cut(line, '\n');
    if (line[0] != '#' && strncmp(line, "symbol\t", 7) != 0) {
      Row row = {.name = line};
      row.arguments = cut(row.name, '\t');
      row.result = cut(row.arguments, '\t');
      row.log = cut(row.result, '\t');
      rows[row_count++] = row;
    }
    line = next;
  }
}

static const Row *row_of(const Symbol *symbol) {
  for (size_t i = 0; i < row_count; ++i) {
    if (strcmp(rows[i].name, symbol->name) == 0) return &rows[i];
  }
  return NULL;
}

/* ---- Arguments ------------------------------------------------------------------------------ */

typedef struct {
  size_t count;
  Value values[most_parameters];
  char types[most_parameters][16]; /* "B", "u32" ... */
  char names[most_parameters][32];
} Arguments;

static bool is_number(const char *type) { return type[0] == 'u' || type[0] == 'f'; }

static size_t read_numbers(const char *text, double numbers[most_entries]) {
  size_t count = 0;
  for (char *end = NULL; *text != '\0'; text = *end == ',' || *end == ':' ? end + 1 : end) {
    numbers[count++] = strtod(text, &end);
    if (end == text) abort();
  }
  return count;
}

static lean_object *make_format(const double fields[4]) {
  lean_object *format = lean_alloc_ctor(0, 3, 1);
  for (unsigned i = 0; i < 3; ++i) lean_ctor_set(format, i, lean_box((size_t)fields[i]));
  lean_ctor_set_uint8(format, 3 * sizeof(void *), (uint8_t)fields[3]);
  return format;
}

static lean_object *make_one_buffer(const char *text) {
  char *kind = NULL;
  const size_t count = strtoul(text, &kind, 10);
  if (*kind != 'e') {
    return take_value(
        torchlean_cuda_buffer_zeros_io((uint32_t)count, *kind == 'f' ? TL_FLOAT32 : TL_FLOAT64));
  }
  static const uint8_t words[64];
  lean_object *bytes = make_bytes(2 * count, words);
  lean_object *format = make_format((double[]){5, 10, 15, 0});
  lean_object *buffer = take_value(torchlean_cuda_buffer_of_encoded_io(bytes, format, 2));
  lean_dec(format);
  lean_dec(bytes);
  return buffer;
}

static lean_object *make_object(const char *type, const char *text) {
  if (strcmp(type, "B") == 0) return make_one_buffer(text);
  if (strcmp(type, "S") == 0) return lean_mk_string(text);
  double numbers[most_entries];
  const size_t count = read_numbers(text, numbers);
  if (strcmp(type, "FMT") == 0) return make_format(numbers);
  if (strcmp(type, "FA") == 0) return make_floats(count, numbers);
  uint8_t bytes[most_entries];
  size_t naturals[most_entries];
  lean_object *objects[most_entries];
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = (uint8_t)numbers[i];
    naturals[i] = (size_t)numbers[i];
  }
  if (strcmp(type, "BA") == 0) return make_bytes(count, bytes);
  if (strcmp(type, "AN") == 0) return make_naturals(count, naturals);
  const bool are_buffers = strcmp(type, "BUFS") == 0;
  for (size_t i = 0; i < count; ++i) {
    objects[i] = are_buffers ? take_value(torchlean_cuda_buffer_zeros_io((uint32_t)naturals[i], 1))
                             : make_bytes(naturals[i], "many bytes");
  }
  return make_array(count, objects);
}

static Value make_value(const char *type, const char *text) {
  if (strcmp(type, "f64") == 0) return (Value){.f64 = strtod(text, NULL)};
  if (is_number(type)) return (Value){.u64 = strtoull(text, NULL, 10)}; /* little-endian */
  return (Value){.object = make_object(type, text)};
}

/* Storages are numbered anew from the first argument on. */
static Arguments make_arguments(const Symbol *symbol, const Row *row) {
  counting->reset();
  Arguments arguments = {0};
  char parameters[text_size];
  char values[text_size];
  snprintf(parameters, sizeof parameters, "%s", symbol->parameters);
  snprintf(values, sizeof values, "%s", row->arguments);
  char *value = values;
  for (char *parameter = parameters; *parameter != '\0';) {
    char *next = cut(parameter, ',');
    next += strspn(next, " ");
    char *name = strrchr(parameter, ' ');
    *name++ = '\0';
    char *next_value = cut(value, ' ');
    const size_t i = arguments.count++;
    snprintf(arguments.types[i], sizeof arguments.types[i], "%.15s", parameter);
    snprintf(arguments.names[i], sizeof arguments.names[i], "%.31s", name);
    arguments.values[i] = make_value(parameter, value);
    parameter = next;
    value = next_value;
  }
  check_text(symbol->name, "what follows the arguments", "", value);
  return arguments;
}

static void drop_arguments(const Symbol *symbol, const Arguments *arguments) {
  for (size_t i = 0; i < arguments->count; ++i) {
    if (is_number(arguments->types[i])) continue;
    lean_object *object = arguments->values[i].object;
    if (!lean_is_scalar(object) && object->count != 1) {
      fprintf(stderr, "%s: %s has %d references after the call, expected 1\n", symbol->name,
              arguments->names[i], (int)object->count);
      check(false, "references balance", symbol->name, 0);
    }
    lean_dec(object);
  }
}

/* ---- Results -----------------------------------------------------------------------------------
 * As text, in the notation of calls.tsv; each takes the result over. */

static void append(char text[text_size], const char *mark, double number) {
  const size_t used = strlen(text);
  const char *separator = used == 0 ? "" : mark[0] == '#' ? " " : ",";
  snprintf(text + used, text_size - used, "%s%s%g", separator, mark, number);
}

/* The number of its storage, which is what all its elements read as. */
static void append_buffer(char text[text_size], lean_object *buffer) {
  if (torchlean_cuda_buffer_size(buffer) == 0) { /* poisoned */
    const IoError error = take_error(torchlean_cuda_buffer_to_float_array_io(buffer));
    snprintf(text, text_size, "refused %.480s", error.text);
    return;
  }
  const bool is_encoded = torchlean_cuda_buffer_dtype(buffer) == TL_ENCODED;
  lean_object *words = take_value(is_encoded ? torchlean_cuda_buffer_to_encoded_io(buffer)
                                             : torchlean_cuda_buffer_to_float_array_io(buffer));
  double number = 0;
  if (is_encoded) {
    number = lean_sarray_cptr(words)[0];
  } else {
    memcpy(&number, lean_sarray_cptr(words), sizeof number);
  }
  lean_dec(words);
  append(text, "#", number);
}

static void append_array(char text[text_size], lean_object *array) {
  for (size_t i = 0; i < lean_sarray_size(array); ++i) {
    double number = lean_sarray_cptr(array)[i];
    if (lean_sarray_elem_size(array) == sizeof number) {
      memcpy(&number, lean_sarray_cptr(array) + i * sizeof number, sizeof number);
    }
    append(text, "", number);
  }
}

static void describe_object(char text[text_size], const char *type, lean_object *object) {
  uint64_t word = 0;
  if (strcmp(type, "Unit") == 0) {
    snprintf(text, text_size, "%s", object == lean_box(0) ? "ok" : "no Unit");
  } else if (strcmp(type, "u32") == 0) {
    append(text, "", (double)lean_unbox(object));
  } else if (strcmp(type, "u64") == 0) {
    memcpy(&word, lean_ctor_obj_cptr(object), sizeof word);
    append(text, "", (double)word);
  } else if (strcmp(type, "f64") == 0) {
    double number = 0;
    memcpy(&number, lean_ctor_obj_cptr(object), sizeof number);
    append(text, "", number);
  } else if (strcmp(type, "String") == 0) {
    snprintf(text, text_size, "\"%s\"", lean_string_cstr(object));
  } else if (strcmp(type, "FA") == 0 || strcmp(type, "BA") == 0) {
    append_array(text, object);
  } else if (strcmp(type, "Option FMT") == 0) {
    lean_object *format = lean_ctor_get(object, 0);
    snprintf(text, text_size, "%zu:%zu:%zu:%u", lean_unbox(lean_ctor_get(format, 0)),
             lean_unbox(lean_ctor_get(format, 1)), lean_unbox(lean_ctor_get(format, 2)),
             lean_ctor_get_uint8(format, 3 * sizeof(void *)));
  } else if (type[0] == '(') { /* (Buf, u8 flag) */
    append_buffer(text, lean_ctor_get(object, 0));
    snprintf(text + strlen(text), text_size - strlen(text), " %zu",
             lean_unbox(lean_ctor_get(object, 1)));
  } else { /* Buf, Buf2 ... nested to the right */
    lean_object *rest = object;
    for (int left = type[3] == '\0' ? 1 : type[3] - '0'; left > 1; --left) {
      append_buffer(text, lean_ctor_get(rest, 0));
      rest = lean_ctor_get(rest, 1);
    }
    append_buffer(text, rest);
  }
  lean_dec(object);
}

/* Poison can stand for its result. */
static bool returns_buffers(const Symbol *symbol) { return strncmp(symbol->result, "Buf", 3) == 0; }

static void describe_result(char text[text_size], const Symbol *symbol, Value result) {
  text[0] = '\0';
  if (!symbol->is_io && strcmp(symbol->result, "u8") == 0) {
    append(text, "", result.u8);
  } else if (!symbol->is_io && strcmp(symbol->result, "u32") == 0) {
    append(text, "", result.u32);
  } else if (!symbol->is_io && strcmp(symbol->result, "u64") == 0) {
    append(text, "", (double)result.u64);
  } else if (symbol->is_io && lean_ptr_tag(result.object) == 1) {
    const IoError error = take_error(result.object);
    snprintf(text, text_size, "refused %.480s", error.text);
  } else {
    describe_object(text, symbol->result,
                    symbol->is_io ? take_value(result.object) : result.object);
  }
}

/* ---- The calls ------------------------------------------------------------------------------ */

typedef struct {
  size_t blocks;
  uint64_t wrappers;
  uint64_t storages;
  uint64_t payloads;
} Alive;

static Alive count_alive(void) {
  return (Alive){live_lean_blocks(), torchlean_cuda_wrapper_live_count(0),
                 counting->live_storages(), torchlean_cuda_allocator_live_bytes(0)};
}

static void check_alive(const char *symbol, Alive before) {
  const Alive after = count_alive();
  if (memcmp(&before, &after, sizeof before) == 0) return;
  fprintf(stderr,
          "%s: alive before, after: %zu, %zu Lean objects; %g, %g wrappers; %g, %g storages\n",
          symbol, before.blocks, after.blocks, (double)before.wrappers, (double)after.wrappers,
          (double)before.storages, (double)after.storages);
  check(false, "nothing is left", symbol, 0);
}

/* The lines that the call itself wrote, joined by "; ". */
static void take_log(char text[text_size], size_t start) {
  snprintf(text, text_size, "%s", counting->log() + start);
  for (char *end = strchr(text, '\n'); end != NULL; end = strchr(text, '\n')) {
    if (end[1] == '\0') {
      *end = '\0';
    } else {
      memmove(end + 2, end + 1, strlen(end));
      end[0] = ';';
      end[1] = ' ';
    }
  }
}

static void call_as_the_row_says(const Symbol *symbol, const Row *row) {
  const Arguments arguments = make_arguments(symbol, row);
  const size_t start = strlen(counting->log());
  const Value value = symbol->call(arguments.values);
  char log[text_size];
  take_log(log, start);
  char result[text_size];
  describe_result(result, symbol, value);
  check_text(symbol->name, "the log", row->log, log);
  check_text(symbol->name, "the result", row->result, result);
  drop_arguments(symbol, &arguments);
}

static void call_with_a_failing_backend(const Symbol *symbol, const Row *row) {
  const Arguments arguments = make_arguments(symbol, row);
  counting->fail_next(TL_DEVICE_ERROR, "a fault on purpose");
  const Value value = symbol->call(arguments.values);
  char result[text_size];
  describe_result(result, symbol, value);
  if (symbol->is_io || returns_buffers(symbol)) {
    check_part(symbol->name, "the result", "refused ", result);
    check_part(symbol->name, "the result", "a fault on purpose", result);
  } else { /* figures of the backend read 0; its name is known without it */
    const bool is_name = strcmp(symbol->result, "String") == 0;
    check_text(symbol->name, "the result", is_name ? row->result : "0", result);
  }
  drop_arguments(symbol, &arguments);
}

static void call_with_a_wrong_class(const Symbol *symbol, const Row *row, size_t index) {
  Arguments arguments = make_arguments(symbol, row);
  lean_dec(arguments.values[index].object);
  arguments.values[index].object =
      strcmp(arguments.types[index], "S") == 0 ? make_bytes(1, "x") : lean_mk_string("x");
  const size_t start = strlen(counting->log());
  const Value value = symbol->call(arguments.values);
  check_text(symbol->name, "the log", "", counting->log() + start);
  char result[text_size];
  describe_result(result, symbol, value);
  char expected[text_size];
  snprintf(expected, sizeof expected, ": %s is a", arguments.names[index]);
  check_part(symbol->name, "the result", "refused ", result);
  check_part(symbol->name, "the result", expected, result);
  drop_arguments(symbol, &arguments);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void the_two_tables_name_the_same_symbols(void) {
  CHECK_EQUAL(row_count, symbol_count);
  for (size_t i = 0; i < symbol_count; ++i) {
    if (row_of(&symbols[i]) == NULL) check(false, "calls.tsv has a row", symbols[i].name, 0);
  }
}

static void each_symbol_calls_its_operation_with_its_arguments(void) {
  lean_object *history[3];
  for (int i = 0; i < 3; ++i)
    history[i] = take_value(torchlean_cuda_buffer_zeros_io(2, TL_FLOAT64));
  drop_all(2, history);
  lean_object *alive = history[2];
  for (size_t i = 0; i < symbol_count; ++i) {
    const Row *row = row_of(&symbols[i]);
    if (row == NULL) continue;
    if (symbols[i].is_io && alive != NULL) { /* the counters have been read */
      lean_dec(alive);
      alive = NULL;
    }
    call_as_the_row_says(&symbols[i], row); /* what Lean keeps for good, it has now */
    const Alive before = count_alive();
    call_as_the_row_says(&symbols[i], row);
    check_alive(symbols[i].name, before);
  }
}

/* A wrong argument of theirs ends the process. */
static bool panics(const Symbol *symbol) {
  return !symbol->is_io && !returns_buffers(symbol) && !is_number(symbol->parameters);
}

static void a_failing_backend_leaves_nothing(void) {
  size_t count = 0;
  for (size_t i = 0; i < symbol_count; ++i) {
    const Row *row = row_of(&symbols[i]);
    if (row == NULL || row->log[0] == '\0' || panics(&symbols[i])) continue;
    ++count;
    call_with_a_failing_backend(&symbols[i], row);
    const Alive before = count_alive();
    call_with_a_failing_backend(&symbols[i], row);
    check_alive(symbols[i].name, before);
  }
  CHECK(count > 110);
}

static void an_argument_of_the_wrong_class_is_refused_and_leaves_nothing(void) {
  size_t count = 0;
  for (size_t i = 0; i < symbol_count; ++i) {
    const Row *row = row_of(&symbols[i]);
    if (row == NULL || panics(&symbols[i])) continue;
    const Arguments sample = make_arguments(&symbols[i], row);
    drop_arguments(&symbols[i], &sample);
    for (size_t index = 0; index < sample.count; ++index) {
      if (is_number(sample.types[index])) continue;
      ++count;
      call_with_a_wrong_class(&symbols[i], row, index);
      const Alive before = count_alive();
      call_with_a_wrong_class(&symbols[i], row, index);
      check_alive(symbols[i].name, before);
    }
  }
  CHECK(count > 200);
}

static void where_poison_cannot_stand_a_wrong_class_ends_the_process(void) {
  size_t count = 0;
  for (size_t i = 0; i < symbol_count; ++i) {
    if (!panics(&symbols[i])) continue;
    ++count;
    const Ending ending = run_scenario(symbols[i].name);
    check(ending.exit_code == 1, "ends with exit code 1", symbols[i].name, 0);
    check_part(symbols[i].name, "the message", " is a String, expected ", ending.errors);
  }
  CHECK_EQUAL(count, 7);
}

static int run_wrong_class(const char *name) {
  for (size_t i = 0; i < symbol_count; ++i) {
    const Row *row = row_of(&symbols[i]);
    if (row != NULL && strcmp(symbols[i].name, name) == 0) {
      call_with_a_wrong_class(&symbols[i], row, 0);
    }
  }
  return 99;
}

static void find_counting(void) {
  tl_attempt attempt = {.struct_size = sizeof attempt};
  if (tl_runtime_status() != TL_NATIVE_AVAILABLE) exit(95);
  for (size_t i = 0; i < tl_attempt_count(); ++i) {
    if (tl_get_attempt(i, &attempt) == TL_OK && attempt.is_serving) break;
  }
  void *file = dlopen(attempt.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (file == NULL) exit(94);
  tl_backend_entry_fn entry = NULL;
  void *symbol = dlsym(file, "torchlean_backend_entry");
  memcpy(&entry, &symbol, sizeof entry);
  counting = (const counting_table *)(const void *)entry(NULL);
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(the_two_tables_name_the_same_symbols),
                               TEST(each_symbol_calls_its_operation_with_its_arguments),
                               TEST(a_failing_backend_leaves_nothing),
                               TEST(an_argument_of_the_wrong_class_is_refused_and_leaves_nothing),
                               TEST(where_poison_cannot_stand_a_wrong_class_ends_the_process),
                               {0}};
  static const Scenario none[] = {{0}};
  read_rows();
  find_counting();
  if (argc > 1) {
    start_lean();
    return run_wrong_class(argv[1]);
  }
  return run_tests(argc, argv, tests, none);
}
