/* What the backend `counting` offers to tests beside its table. */
#ifndef TORCHLEAN_TESTS_COUNTING_H
#define TORCHLEAN_TESTS_COUNTING_H

#include <torchlean/backend.h>

/* The table that its entry returns is the first member of this. Not thread-safe. */
typedef struct {
  BackendVTable table;

  /* One line for each call of a kernel or control since the last reset, oldest first:
   *
   *   elementwise.binary 12 #1[3] #2[3] 0.5 0 > #3
   *
   * entry, enumerator, operands (the number of the storage, its elements), other arguments in the
   * order of backend.h, storages made. Storages are numbered from 1 in the order that they were
   * made in since the last reset; all elements of a storage read as its number. */
  const char *(*log)(void);
  void (*reset)(void);

  /* The next logged call fails so, with the text. TL_OK: none does. */
  void (*fail_next)(tl_status status, const char *text);

  /* Storages that have not been released. */
  uint64_t (*live_storages)(void);
} counting_table;

#endif
