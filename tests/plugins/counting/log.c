/* The log of the calls, and the storages that they make. */
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tl_host *host;

static char lines[1 << 16];
static size_t used;
static uint64_t last_number;
static uint64_t live;
static tl_status next_status;
static char next_text[256];

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(lines + used, sizeof lines - used, format, arguments);
  va_end(arguments);
  if (length > 0 && used + (size_t)length < sizeof lines) used += (size_t)length;
}

void say_operand(const tl_operand *x) {
  if (x == NULL) {
    say(" none");
  } else if (x->count == 0) {
    say(" empty");
  } else {
    say(" #%" PRIu64 "[%" PRIu64 "]", x->storage->number, x->count);
  }
}

void say_number(uint64_t number) { say(" %" PRIu64, number); }

void say_axes(const char *name, const int64_t axes[3]) {
  say(" %s %" PRId64 ",%" PRId64 ",%" PRId64, name, axes[0], axes[1], axes[2]);
}

void say_words(const void *words, tl_dtype kind, uint32_t width, uint64_t n) {
  const unsigned char *bytes = words;
  for (uint64_t i = 0; i < n; ++i) {
    double value = 0;
    if (kind == TL_FLOAT32) {
      float single = 0;
      memcpy(&single, bytes + 4 * i, sizeof single);
      value = single;
    } else if (kind == TL_FLOAT64) {
      memcpy(&value, bytes + 8 * i, sizeof value);
    } else {
      for (uint32_t byte = width; byte > 0; --byte)
        value = value * 256 + bytes[i * width + byte - 1];
    }
    say("%s%g", i == 0 ? " " : ",", value);
  }
}

/* Begins a line: entry, and the numbers given. */
void begin(const char *entry) { say("%s", entry); }

void begin_with(const char *entry, uint32_t enumerator) {
  begin(entry);
  say_number(enumerator);
}

/* Ends a line, and makes `count` storages unless this call is to fail. */
tl_status end(tl_storage **out, int count) {
  const tl_status status = next_status;
  next_status = TL_OK;
  if (status != TL_OK) {
    say("\n");
    host->set_error(next_text);
    return status;
  }
  if (count > 0) say(" >");
  for (int i = 0; i < count; ++i) {
    tl_storage *storage = malloc(sizeof *storage);
    if (storage == NULL) abort();
    storage->number = ++last_number;
    ++live;
    say(" #%" PRIu64, storage->number);
    out[i] = storage;
  }
  say("\n");
  return TL_OK;
}

const char *read_log(void) {
  lines[used] = '\0';
  return lines;
}

void reset(void) {
  used = 0;
  last_number = 0;
  next_status = TL_OK;
}

void fail_next(tl_status status, const char *text) {
  next_status = status;
  snprintf(next_text, sizeof next_text, "%s", text);
}

uint64_t live_storages(void) { return live; }

void forget(tl_storage *storage) {
  --live;
  free(storage);
}
