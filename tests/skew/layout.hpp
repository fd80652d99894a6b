// Where members lie and what type they have, as seen by one set of headers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace torchlean_test {

struct LayoutEntry {
  std::string name;       // "tl_host.log", "tl_host" or "TL_UNARY_ABS"
  std::size_t offset;     // of a member; of a structure, where its last member ends; else the value
  std::size_t size;       // of a member or structure, padding included; 0 for an enumerator
  std::size_t alignment;  // of a structure
  std::string type;       // of a member, as the compiler spells it: a function's whole signature
};

std::vector<LayoutEntry> frozen_layout();
std::vector<LayoutEntry> present_layout();

}  // namespace torchlean_test
