// The exception that a bad backend lets out of its C functions.
#include <stdexcept>

extern "C" void throw_on_purpose() { throw std::runtime_error("thrown on purpose"); }
