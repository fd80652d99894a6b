/* A backend file as C makes it, to be looked into and never run. */
#define TL_ABI_VERSION 7
#include "torchlean/backend_note.h"

TL_BACKEND_NOTE("fixture-c", TL_NOTE_NEEDS_NVIDIA_DRIVER | TL_NOTE_TEST_ONLY, "Fixture 1.2",
                "libelf_neighbour.so", "00ff17");

int torchlean_backend_entry(void);
int torchlean_backend_entry(void) { return 0; }
