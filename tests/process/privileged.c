/* Prints what a process with raised privileges (AT_SECURE) makes of its variables. It brings the
 * core along: such a process finds no library by $ORIGIN. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/auxv.h>
#include <torchlean/runtime.h>

int main(void) {
  tl_runtime_info info = {.struct_size = sizeof info};
  tl_get_runtime_info(&info);
  printf("secure %lu\nignored %s\nasked %s\nreason %s\n", getauxval(AT_SECURE), info.ignored,
         info.asked, info.reason);
  return 0;
}
