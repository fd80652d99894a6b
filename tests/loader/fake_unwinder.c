// Defines one of the unwinder's functions and not the others, as Lean's shared library does.
// NOLINTNEXTLINE(readability-identifier-naming)
int _Unwind_RaiseException(void *exception);
int _Unwind_RaiseException(void *exception) { return exception == 0; }
