// layout.def looked up in the headers that this file is compiled with; LAYOUT names the function.
#include "layout.hpp"

#include <torchlean/backend.h>
#include <torchlean/runtime.h>

#include <typeinfo>

std::vector<torchlean_test::LayoutEntry> torchlean_test::LAYOUT() {
  return {
#define MEMBER(structure, member)                                                     \
  {#structure "." #member, offsetof(structure, member), sizeof(structure::member), 0, \
   typeid(decltype(structure::member)).name()},
#define STRUCTURE(structure, last)                                                     \
  {#structure, offsetof(structure, last) + sizeof(structure::last), sizeof(structure), \
   alignof(structure), ""},
#define ENUMERATOR(name) {#name, static_cast<std::size_t>(name), 0, 0, ""},
#include "layout.def"
  };
}
