/* The parts of the backend that is wrong on purpose. */
#ifndef TORCHLEAN_TESTS_WRONG_H
#define TORCHLEAN_TESTS_WRONG_H

#include <torchlean/backend.h>

/* Each puts entries over those of `vtable` that the kind of fault asks for; the others stay. */
void spoil_manners(BackendVTable *vtable, const tl_host *core, const char *asked);
void spoil_windows(BackendVTable *vtable, const char *asked);

#endif
