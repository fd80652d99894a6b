/* Where the parts of Lean's objects lie, asserted of whichever header decides: Lean's own lean.h or
 * lean_abi.h. The numbers stand here once, so the two cannot differ. */
#include <stddef.h>

#include "lean_abi.h"

#ifdef TORCHLEAN_HAS_LEAN_H
#define OFFSET(object, own, leans) offsetof(lean_##object##_object, leans)
#define TAG(own, leans) leans
#else
#define OFFSET(object, own, leans) offsetof(lean_abi_##object##_object, own)
#define TAG(own, leans) lean_abi_##own
#define lean_abi_sarray_object lean_abi_scalar_array_object
#endif

_Static_assert(sizeof(void *) == 8, "Lean's objects are described for 64 bits");
_Static_assert(sizeof(lean_object) == 8, "header");
_Static_assert(OFFSET(array, size, m_size) == 8, "array: size");
_Static_assert(OFFSET(array, capacity, m_capacity) == 16, "array: capacity");
_Static_assert(OFFSET(array, elements, m_data) == 24, "array: elements");
_Static_assert(OFFSET(sarray, size, m_size) == 8, "scalar array: size");
_Static_assert(OFFSET(sarray, capacity, m_capacity) == 16, "scalar array: capacity");
_Static_assert(OFFSET(sarray, data, m_data) == 24, "scalar array: elements");
_Static_assert(OFFSET(string, size, m_size) == 8, "string: bytes");
_Static_assert(OFFSET(string, length, m_length) == 24, "string: characters");
_Static_assert(OFFSET(string, text, m_data) == 32, "string: text");
_Static_assert(OFFSET(external, external_class, m_class) == 8, "external: class");
_Static_assert(OFFSET(external, data, m_data) == 16, "external: data");
_Static_assert(TAG(array, LeanArray) == 246, "tag of arrays");
_Static_assert(TAG(scalar_array, LeanScalarArray) == 248, "tag of scalar arrays");
_Static_assert(TAG(string, LeanString) == 249, "tag of strings");
_Static_assert(TAG(big_number, LeanMPZ) == 250, "tag of big numbers");
_Static_assert(TAG(external, LeanExternal) == 254, "tag of external objects");
