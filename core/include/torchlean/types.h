/* The vocabulary that programs and backends share: status codes, scalar kinds, formats, operations.
 *
 * Plain C11, usable from C++. Enumerations that cross the ABI are fixed-width integers with named
 * constants: a value from a newer caller is then well defined and can be refused (TL_UNSUPPORTED).
 */
#ifndef TORCHLEAN_TYPES_H
#define TORCHLEAN_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The backend ABI's number. 0 means: not frozen yet, core and backends must come from one build. */
#define TL_ABI_VERSION 0u

/* How a call ended. Everything but TL_OK leaves a text on the calling thread (tl_last_error()). */
typedef int32_t tl_status;
enum {
  TL_OK = 0,
  TL_INVALID_ARGUMENT = 1, /* the caller passed something that no backend could accept */
  TL_OUT_OF_MEMORY = 2,    /* nothing was allocated; release buffers and try less */
  TL_UNSUPPORTED = 3,      /* this backend does not have the operation, dtype or enumerator */
  TL_UNAVAILABLE = 4,      /* no backend serves, or the process is shutting down or was forked */
  TL_DEVICE_ERROR = 5,     /* the device or its library reported a failure */
  TL_DEVICE_LOST = 6,      /* a sticky device error: this instance will not work again */
  TL_INTERNAL = 7          /* a bug in the core or the backend */
};

/* Scalar kind of a buffer's elements. */
typedef uint32_t tl_dtype;
enum {
  TL_FLOAT32 = 0,
  TL_FLOAT64 = 1,
  TL_ENCODED = 2, /* words of a tl_format, little-endian; moved, never converted */
  TL_DTYPE_COUNT = 3
};

/* How the all-ones exponent of an encoded format is used. */
typedef uint8_t tl_encoding;
enum {
  TL_ENCODING_IEEE = 0,
  TL_ENCODING_FINITE_MAX_NAN = 1,       /* no infinity; all-ones exponent and fraction is NaN */
  TL_ENCODING_FINITE_UNSIGNED_ZERO = 2, /* no infinity, one zero; the -0 pattern is the only NaN */
  TL_ENCODING_FINITE = 3,               /* every pattern is finite */
  TL_ENCODING_COUNT = 4
};

/* A binary floating-point format: sign, exponent, fraction from the top of the word. Formats match
 * if all four fields are equal. Valid: 2 <= exponent_bits <= 32, fraction_bits >= 1, at most 256
 * bits in all, exponent_bias < 2^62. */
typedef struct tl_format {
  uint64_t exponent_bits;
  uint64_t fraction_bits;
  uint64_t exponent_bias;
  tl_encoding encoding;
} tl_format;

/* Process-wide switches (tl_set_setting). Booleans: any nonzero value is on. */
typedef uint32_t tl_setting;
enum {
  TL_SETTING_MATMUL_TF32 = 0,
  TL_SETTING_CONVOLUTION_TF32 = 1,
  TL_SETTING_DETERMINISTIC = 2,
  TL_SETTING_CUDNN_BENCHMARK = 3,
  TL_SETTING_FLASH_ATTENTION = 4,
  TL_SETTING_MEMORY_EFFICIENT_ATTENTION = 5,
  TL_SETTING_MATH_ATTENTION = 6,
  TL_SETTING_CUDNN_ATTENTION = 7,
  TL_SETTING_CUDNN = 8,
  TL_SETTING_COUNT = 9
};

/* Severity of a log line. */
typedef int32_t tl_log_level;
enum { TL_LOG_DEBUG = 0, TL_LOG_INFO = 1, TL_LOG_WARN = 2, TL_LOG_ERROR = 3, TL_LOG_OFF = 4 };

/* In operations.def: the enumerator of an entry that serves one operation. */
#define TL_NO_ENUMERATOR 0xFFFFFFFFu

/* Every operation, one value per row of operations.def: TL_OP_add, TL_OP_reduce_sum ... */
typedef uint32_t tl_operation;
enum {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  TL_OP_##name,
#include <torchlean/operations.def>
#undef TL_OPERATION
  TL_OP_COUNT
};

/* ---- Enumerators: operations of one signature share an entry and are told apart by these. --- */

/* random: params */
typedef uint32_t tl_random_op;
enum {
  TL_RANDOM_UNIFORM = 0,   /* no scalars */
  TL_RANDOM_NORMAL = 1,    /* scalar[0] = mean, scalar[1] = standard deviation */
  TL_RANDOM_BERNOULLI = 2, /* scalar[0] = probability of a 1 */
  TL_RANDOM_OP_COUNT = 3
};

/* elementwise: one operand */
typedef uint32_t tl_unary_op;
enum {
  TL_UNARY_ABS = 0,
  TL_UNARY_NEG = 1,
  TL_UNARY_FLOOR = 2,
  TL_UNARY_SQRT = 3,
  TL_UNARY_INV = 4,
  TL_UNARY_RELU = 5,
  TL_UNARY_EXP = 6,
  TL_UNARY_LOG = 7,
  TL_UNARY_LOG1P = 8,
  TL_UNARY_SIN = 9,
  TL_UNARY_COS = 10,
  TL_UNARY_TANH = 11,
  TL_UNARY_SIGMOID = 12,
  TL_UNARY_GELU = 13,
  TL_UNARY_SCALE = 14, /* scalar[0] = factor */
  TL_UNARY_CLAMP = 15, /* scalar[0] = lo, scalar[1] = hi */
  TL_UNARY_OP_COUNT = 16
};

/* elementwise: two operands. The gradients take (x, dLdy). */
typedef uint32_t tl_binary_op;
enum {
  TL_BINARY_ADD = 0,
  TL_BINARY_SUB = 1,
  TL_BINARY_MUL = 2,
  TL_BINARY_DIV = 3,
  TL_BINARY_MAX = 4,
  TL_BINARY_MIN = 5,
  TL_BINARY_MASK = 6, /* (values, allowed) */
  TL_BINARY_ABS_BWD = 7,
  TL_BINARY_SQRT_BWD = 8,
  TL_BINARY_RELU_BWD = 9,
  TL_BINARY_GELU_BWD = 10,
  TL_BINARY_CLAMP_BWD = 11,       /* scalar[0] = lo, scalar[1] = hi */
  TL_BINARY_AXPY = 12,            /* fma(b, scalar[0], a) */
  TL_BINARY_SCALED_PROD_EXP = 13, /* exp((x * scalar[0]) * y) */
  TL_BINARY_OP_COUNT = 14
};

/* elementwise: gradients of two-operand selections, (a, b, dLdy) -> (dA, dB) */
typedef uint32_t tl_select_bwd_op;
enum { TL_SELECT_MAX_BWD = 0, TL_SELECT_MIN_BWD = 1, TL_SELECT_BWD_OP_COUNT = 2 };

/* reduction over the middle axis of (outer, n, inner) -> (outer, inner). The total forms come as
 * (1, n, 1); they are enumerators of their own since their deterministic order differs. */
typedef uint32_t tl_reduce_op;
enum {
  TL_REDUCE_TOTAL_SUM = 0,
  TL_REDUCE_TOTAL_MEAN = 1,
  TL_REDUCE_SUM = 2,
  TL_REDUCE_MAX = 3,
  TL_REDUCE_OP_COUNT = 4
};

/* reduction: 0/1 masks over the rows of (rows, cols) */
typedef uint32_t tl_row_mask_op;
enum { TL_ROW_MASK_FIRST_MAX = 0, TL_ROW_MASK_TOP_K = 1, TL_ROW_MASK_OP_COUNT = 2 };

/* loss */
typedef uint32_t tl_loss_op;
enum {
  TL_LOSS_CROSS_ENTROPY = 0,         /* (logits, weights) -> scalar */
  TL_LOSS_DISTILLATION = 1,          /* (student, teacher) -> scalar */
  TL_LOSS_DISTILLATION_GRADIENT = 2, /* (student, teacher) -> like student */
  TL_LOSS_OP_COUNT = 3
};

/* fourier */
typedef uint32_t tl_fourier_op;
enum {
  TL_FOURIER_RFFT = 0,
  TL_FOURIER_IRFFT = 1,
  TL_FOURIER_IRFFT_UNNORMALIZED = 2,
  TL_FOURIER_OP_COUNT = 3
};

/* scan: coefficients per state, or per (time, state) */
typedef uint32_t tl_scan_op;
enum { TL_SCAN_CONSTANT = 0, TL_SCAN_VARYING = 1, TL_SCAN_OP_COUNT = 2 };

/* convolution */
typedef uint32_t tl_convolution_op;
enum { TL_CONVOLUTION = 0, TL_CONVOLUTION_TRANSPOSED = 1, TL_CONVOLUTION_OP_COUNT = 2 };

/* pooling */
typedef uint32_t tl_pooling_op;
enum {
  TL_POOLING_MAX = 0,
  TL_POOLING_AVERAGE = 1,
  TL_POOLING_SMOOTH_MAX = 2, /* scalar = beta */
  TL_POOLING_OP_COUNT = 3
};

#ifdef __cplusplus
}
#endif

#endif /* TORCHLEAN_TYPES_H */
