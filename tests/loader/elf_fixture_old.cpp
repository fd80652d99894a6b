// A backend file as C++ makes it, with the older hash table and run path.
#define TL_ABI_VERSION 0
#include "torchlean/backend_note.h"

TL_BACKEND_NOTE("fixture_cpp", TL_NOTE_CXX_RUNTIME, "", "", "");

extern "C" int torchlean_backend_entry() { return 0; }
