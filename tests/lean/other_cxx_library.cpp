// A C++ library that a Lean program links besides the runtime: it brings a shared libstdc++ along.
#include <sstream>

extern "C" __attribute__((visibility("default"))) int other_cxx_library(int number) {
  std::ostringstream text;
  text << number;
  return static_cast<int>(text.str().size());
}
