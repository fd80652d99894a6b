/* One small operation on a backend that does nothing, for count_locked.py to step through. */
#include <torchlean/runtime.h>

#include <stdio.h>

/* One operation, its handle made and freed. */
__attribute__((noinline)) void one_call(const tl_buffer *x) {
  tl_buffer *y = NULL;
  if (tl_unary(TL_UNARY_ABS, x, &y) == TL_OK) tl_buffer_free(y);
}

int main(void) {
  tl_buffer *x = NULL;
  if (tl_zeros(1, TL_FLOAT32, &x) != TL_OK) {
    fprintf(stderr, "%s\n", tl_last_error());
    return 1;
  }
  one_call(x); /* binds symbols lazily, warms the thread's state */
  one_call(x); /* the one that is counted */
  tl_buffer_free(x);
  return 0;
}
