/* Kinds of faults in convolutions and pools. Results are spoilt on the host: down, changed, up. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wrong.h"

static const char *kind = "";
static bool is(const char *name) { return strcmp(kind, name) == 0; }

static BackendVTable right;
static tl_convolution_table convolution;
static tl_pooling_table pooling;

static double *words_of(tl_instance *instance, const tl_operand *x) {
  double *words = malloc((x->count + 1) * sizeof *words);
  if (x->count > 0) right.transfer->download(instance, x, TL_FLOAT64, words);
  return words;
}

static tl_status replace(tl_instance *instance, tl_dtype dtype, const double *words, uint64_t count,
                         tl_storage **out) {
  if (*out != NULL) right.memory->release(instance, *out);
  return right.transfer->upload(instance, words, TL_FLOAT64, dtype, dtype == TL_FLOAT32 ? 4 : 8,
                                count, 0, out);
}

static uint64_t volume(const int64_t dims[3]) { return (uint64_t)(dims[0] * dims[1] * dims[2]); }

/* A kernel's blocks between two groups are multiplied by zero instead of left out. */
static tl_status conv_forward(tl_instance *instance, tl_convolution_op op, const tl_operand *input,
                              const tl_operand *kernel, const tl_operand *bias,
                              const tl_convolution_params *params, tl_flags flags,
                              tl_storage **out) {
  const tl_status status =
      right.convolution->forward(instance, op, input, kernel, bias, params, flags, out);
  if (status != TL_OK || !is("groups-masked-with-zeros") || params->groups == 1) return status;
  double *weights = words_of(instance, kernel);
  bool has_nan = false;
  for (uint64_t i = 0; i < kernel->count; ++i) has_nan = has_nan || !isfinite(weights[i]);
  free(weights);
  if (!has_nan) return status;
  const uint64_t count = params->batch * params->out_channels * volume(params->out);
  double *words = malloc(count * sizeof *words);
  for (uint64_t i = 0; i < count; ++i) words[i] = (double)NAN;
  const tl_status replaced = replace(instance, input->dtype, words, count, out);
  free(words);
  return replaced;
}

/* Does the window with this index reach into the padding? */
static bool touches_padding(const tl_pooling_params *params, uint64_t window) {
  for (int axis = 3; axis-- > 0;) {
    const int64_t w = (int64_t)(window % (uint64_t)params->out[axis]);
    window /= (uint64_t)params->out[axis];
    const int64_t start = w * params->stride[axis] - params->padding[axis];
    if (start < 0 || start + params->kernel[axis] > params->in[axis]) return true;
  }
  return false;
}

/* Padding takes part in the maximum as a zero. */
static tl_status pool_forward(tl_instance *instance, tl_pooling_op op, const tl_operand *input,
                              const tl_pooling_params *params, tl_flags flags, tl_storage **out) {
  const tl_status status = right.pooling->forward(instance, op, input, params, flags, out);
  if (status != TL_OK || op != TL_POOLING_MAX || !is("padding-counted")) return status;
  const uint64_t windows = volume(params->out);
  const uint64_t count = params->channels * windows;
  const tl_operand result = {*out, count, input->dtype, input->width};
  double *words = words_of(instance, &result);
  for (uint64_t i = 0; i < count; ++i) {
    if (touches_padding(params, i % windows) && words[i] < 0) words[i] = 0;
  }
  const tl_status replaced = replace(instance, input->dtype, words, count, out);
  free(words);
  return replaced;
}

static void reverse(double *words, uint64_t count) {
  for (uint64_t i = 0; i < count / 2; ++i) {
    const double word = words[i];
    words[i] = words[count - 1 - i];
    words[count - 1 - i] = word;
  }
}

/* The gradient of the right one, seen in a mirror: ties go to the last. */
static tl_status mirrored_backward(tl_instance *instance, const tl_operand *input,
                                   const tl_operand *gradient, const tl_pooling_params *params,
                                   tl_storage **out) {
  tl_operand mirrored[2] = {*input, *gradient};
  tl_status status = TL_OK;
  for (int k = 0; k < 2; ++k) {
    double *words = words_of(instance, &mirrored[k]);
    reverse(words, mirrored[k].count);
    mirrored[k].storage = NULL;
    if (status == TL_OK) {
      status = replace(instance, input->dtype, words, mirrored[k].count, &mirrored[k].storage);
    }
    free(words);
  }
  if (status == TL_OK) {
    status = right.pooling->backward(instance, TL_POOLING_MAX, &mirrored[0], &mirrored[1], params,
                                     0, out);
  }
  for (int k = 0; k < 2; ++k) right.memory->release(instance, mirrored[k].storage);
  if (status != TL_OK) return status;
  const tl_operand result = {*out, input->count, input->dtype, input->width};
  double *words = words_of(instance, &result);
  reverse(words, input->count);
  status = replace(instance, input->dtype, words, input->count, out);
  free(words);
  return status;
}

static tl_status pool_backward(tl_instance *instance, tl_pooling_op op, const tl_operand *input,
                               const tl_operand *gradient, const tl_pooling_params *params,
                               tl_flags flags, tl_storage **out) {
  const tl_status status =
      right.pooling->backward(instance, op, input, gradient, params, flags, out);
  if (status != TL_OK || op != TL_POOLING_MAX || !is("last-tie-wins")) return status;
  /* Only where the windows lie the same way from both ends. */
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t span = (params->out[axis] - 1) * params->stride[axis] + params->kernel[axis];
    if (span != params->in[axis] + 2 * params->padding[axis]) return status;
  }
  right.memory->release(instance, *out);
  return mirrored_backward(instance, input, gradient, params, out);
}

void spoil_windows(BackendVTable *vtable, const char *asked) {
  kind = asked;
  right = *vtable;
  convolution = *right.convolution;
  convolution.forward = conv_forward;
  pooling = *right.pooling;
  pooling.forward = pool_forward;
  pooling.backward = pool_backward;
  vtable->convolution = &convolution;
  vtable->pooling = &pooling;
}
