// Timing one call on several backends, which take turns.
#pragma once

#include "bench/prepared.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace torchlean::tools {

// Seconds on the wall's clock and of this process on all processors.
struct Moment {
  double wall;
  double processor;
};
Moment now();

// Of one call, on one of the clocks.
struct Figure {
  double median = 0;
  double fastest = 0;
  double spread = 0;  // interquartile range over the median
};
Figure figure_of(std::vector<double> seconds);

struct Timing {
  Figure wall;
  Figure processor;
  std::uint64_t turns = 0;
  std::uint64_t calls = 0;  // in each turn
};

struct Contender {
  const Backend *backend;
  Timing timing = {};
  std::string error = {};  // of a call that failed; then it is not timed
  bool agrees = true;      // with the first one that gave a result
};

// Prepares the row on each backend and calls it in turns, `seconds` long in all, results freed
// within the timed calls. Before each turn stands a call that is not timed, and other backends'
// threads have gone to sleep by then. Every backend gets a turn, and three unless those before the
// third take longer than all the time there is.
void take_turns(const Workload &row, std::vector<Contender> &contenders, double seconds);

// Seconds that a call itself adds where it calls nothing.
double cost_of_calling();

}  // namespace torchlean::tools
