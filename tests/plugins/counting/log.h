/* How the backend `counting` writes its log, and the tables that it is made of. */
#ifndef TORCHLEAN_TESTS_COUNTING_LOG_H
#define TORCHLEAN_TESTS_COUNTING_LOG_H

#include "counting.h"

struct tl_storage {
  uint64_t number;
};

extern const tl_host *host;

/* ---- A line --------------------------------------------------------------------------------- */

/* Begins it with the entry, and its enumerator. */
void begin(const char *entry);
void begin_with(const char *entry, uint32_t enumerator);

/* Appends, with a space before each; say() as it is written. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
void say_operand(const tl_operand *x);
void say_number(uint64_t number);
void say_axes(const char *name, const int64_t axes[3]);
void say_words(const void *words, tl_dtype kind, uint32_t width, uint64_t n);

/* Ends it, and makes `count` storages unless this call is to fail. */
tl_status end(tl_storage **out, int count);

/* The storage has been released. */
void forget(tl_storage *storage);

/* ---- What tests see: counting.h ------------------------------------------------------------- */

const char *read_log(void);
void reset(void);
void fail_next(tl_status status, const char *text);
uint64_t live_storages(void);

/* ---- Families with files of their own ------------------------------------------------------- */

extern const tl_random_table random_table;
extern const tl_elementwise_table elementwise_table;
extern const tl_optimizer_table optimizer_table;
extern const tl_reduction_table reduction_table;
extern const tl_view_table view_table;
extern const tl_indexing_table indexing_table;
extern const tl_matmul_table matmul_table;
extern const tl_normalization_table normalization_table;
extern const tl_loss_table loss_table;
extern const tl_fourier_table fourier_table;
extern const tl_scan_table scan_table;
extern const tl_convolution_table convolution_table;
extern const tl_pooling_table pooling_table;

#endif
