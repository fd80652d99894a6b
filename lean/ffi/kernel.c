/* Lean symbols: kernels compiled at run time. Their language is not specified yet: the classes of
 * the arguments are checked, and the answer is "unsupported". */
#include <stdio.h>

#include "call.h"
#include "symbols.h"

enum { name_size = 32 };

static void take_buffers(tl_lean_call *call, b_lean_obj_arg inputs) {
  tl_lean_take_array(call, "inputs", inputs, "an Array of Buffer");
  for (size_t i = 0; tl_lean_ok(call) && i < lean_array_size(inputs); ++i) {
    char name[name_size];
    snprintf(name, sizeof name, "inputs[%zu]", i);
    tl_lean_take_buffer(call, name, lean_array_get_core(inputs, i));
  }
}

static lean_obj_res refuse(tl_lean_call *call) {
  tl_lean_refuse(call, TL_UNSUPPORTED, "kernels from source text are not supported yet");
  return tl_lean_end(call, 1);
}

lean_obj_res torchlean_kernel_run_encoded(b_lean_obj_arg source, b_lean_obj_arg inputs,
                                          b_lean_obj_arg format, uint64_t width, uint64_t count) {
  (void)width;
  (void)count;
  tl_lean_call call = tl_lean_pure("run_encoded");
  tl_lean_take_string(&call, "source", source);
  take_buffers(&call, inputs);
  tl_lean_take_format(&call, "format", format);
  return refuse(&call);
}

lean_obj_res torchlean_kernel_run_buffer(b_lean_obj_arg source, b_lean_obj_arg inputs,
                                         uint64_t count) {
  (void)count;
  tl_lean_call call = tl_lean_io("run_buffer");
  tl_lean_take_string(&call, "source", source);
  take_buffers(&call, inputs);
  return refuse(&call);
}

lean_obj_res torchlean_kernel_run_bytes(b_lean_obj_arg source, uint32_t format, uint64_t width,
                                        b_lean_obj_arg arrays, uint64_t count) {
  (void)format;
  (void)width;
  (void)count;
  tl_lean_call call = tl_lean_io("run_bytes");
  tl_lean_take_string(&call, "source", source);
  tl_lean_take_array(&call, "arrays", arrays, "an Array of ByteArray");
  for (size_t i = 0; tl_lean_ok(&call) && i < lean_array_size(arrays); ++i) {
    char name[name_size];
    snprintf(name, sizeof name, "arrays[%zu]", i);
    tl_lean_take_byte_array(&call, name, lean_array_get_core(arrays, i));
  }
  return refuse(&call);
}
