/* A library that a bad backend needs. It has an entry of its own, which must not be taken for the
 * backend's (rule L9), and is nowhere to be found for another. */
#include <torchlean/backend.h>

#include <stdlib.h>

__attribute__((visibility("default"))) int torchlean_bad_dependency(void);
int torchlean_bad_dependency(void) { return 1; }

const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  (void)host;
  abort();
}
