/* The ELF note by which a backend file says what it is without any of its code running. */
#ifndef TORCHLEAN_BACKEND_NOTE_H
#define TORCHLEAN_BACKEND_NOTE_H

#include <stdint.h>

/* Section, owner and type of the note. `readelf -n` shows it, `strip` keeps it. */
#define TL_NOTE_SECTION ".note.torchlean"
#define TL_NOTE_OWNER "TorchLean"
#define TL_NOTE_TYPE 0x746c /* "tl"; apart from the types that readelf names */

/* Version of tl_backend_note. Later versions only append members; readers accept longer notes. */
#define TL_NOTE_VERSION 1

/* The backend cannot serve without an NVIDIA driver: automatic choice skips it where there is none.
 */
#define TL_NOTE_NEEDS_NVIDIA_DRIVER 1u
/* The file holds C++ code that links a shared libstdc++ and unwinder: opened with care (see
 * core/loader/unwinder.hpp). A backend that links both statically and hidden leaves this out. */
#define TL_NOTE_CXX_RUNTIME 2u
/* A backend for tests: served when asked for by name or path, never chosen by `auto`. */
#define TL_NOTE_TEST_ONLY 4u
/* Made for checking results, not for speed; automatic choice says so when it falls back to it. */
#define TL_NOTE_FOR_CHECKING 8u

/* The note's description. Each text ends with a NUL inside its array. */
typedef struct tl_backend_note {
  uint32_t note_version;     /* TL_NOTE_VERSION of the header it was built with */
  uint32_t abi_version;      /* newest backend ABI that it implements: TL_ABI_VERSION */
  uint32_t flags;            /* TL_NOTE_… */
  uint32_t reserved;         /* 0 */
  char name[32];             /* as in TORCHLEAN_BACKEND: lower-case letters, digits, '-', '_' */
  char built_for[64];        /* for people: "LibTorch 2.15.0"; "" if nothing in particular */
  char library[64];          /* SONAME of a library whose exact build matters, or "" */
  char library_build_id[64]; /* that library's GNU build id in lower-case hexadecimal, or "" */
} tl_backend_note;

/* A whole note as it lies in its section. */
typedef struct tl_backend_note_record {
  uint32_t owner_size;       /* of the owner with its NUL: 10 */
  uint32_t description_size; /* sizeof(tl_backend_note) */
  uint32_t type;             /* TL_NOTE_TYPE */
  char owner[12];            /* padded to a multiple of 4, as the format wants */
  tl_backend_note description;
} tl_backend_note_record;

#ifdef __cplusplus
#define TL_NOTE_ASSERT(condition, message) static_assert(condition, message)
#else
#define TL_NOTE_ASSERT(condition, message) _Static_assert(condition, message)
#endif

TL_NOTE_ASSERT(sizeof(tl_backend_note) == 240, "the note's layout is fixed");
TL_NOTE_ASSERT(sizeof(tl_backend_note_record) == 264, "a note has no padding of its own");

/* Puts the note into the file. Once per backend, at file scope of one source file that is always
 * linked (backend.cpp), with string literals and a TL_ABI_VERSION in sight:
 *
 *   TL_BACKEND_NOTE("libtorch", TL_NOTE_CXX_RUNTIME, "LibTorch 2.15.0", "libtorch_cpu.so",
 *                   "1f0c…");
 */
#define TL_BACKEND_NOTE(name, flags, built_for, library, library_build_id)                        \
  TL_NOTE_ASSERT(sizeof(name) > 1 && sizeof(name) <= 32, "name: 1 to 31 bytes");                  \
  TL_NOTE_ASSERT(sizeof(built_for) <= 64, "built_for: at most 63 bytes");                         \
  TL_NOTE_ASSERT(sizeof(library) <= 64, "library: at most 63 bytes");                             \
  TL_NOTE_ASSERT(sizeof(library_build_id) <= 64, "library_build_id: at most 63 bytes");           \
  /* `used` keeps it from the compiler and from LTO; linkers keep note sections themselves. */    \
  __attribute__((used, aligned(4), section(TL_NOTE_SECTION))) static const tl_backend_note_record \
      tl_backend_note_in_this_file = {sizeof(TL_NOTE_OWNER),                                      \
                                      sizeof(tl_backend_note),                                    \
                                      TL_NOTE_TYPE,                                               \
                                      TL_NOTE_OWNER,                                              \
                                      {TL_NOTE_VERSION, TL_ABI_VERSION, (flags), 0, name,         \
                                       built_for, library, library_build_id}}

#endif
