// Turns, samples and their statistics.
#include "bench/turns.hpp"

#include "bench/idle.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <list>
#include <utility>

namespace torchlean::tools {
namespace {

using Values = std::vector<std::vector<double>>;

constexpr double wanted_turns = 15;
constexpr std::size_t least_turns = 3;
constexpr std::uint64_t most_calls = std::uint64_t{1} << 24U;
constexpr double calibration_time = 5e-4;  // seconds

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A device may still be at work when a call returns.
void wait_for_device() {
  const tl_status status = tl_synchronize();
  if (status != TL_UNSUPPORTED) check(status);
}

// One contender with its call, and the samples taken.
class Player {
 public:
  Player(const Workload &row, Contender &contender)
      : contender_(&contender), call_(prepare(row, *contender.backend)) {}

  Contender &contender() { return *contender_; }

  Values values() {
    const ThreadBackend here(*contender_->backend);
    return call_.values();
  }

  // Finds how many calls take so many seconds.
  void calibrate(double seconds) {
    double each = 0;
    for (std::uint64_t calls = 1; calls <= most_calls; calls *= 4) {
      const double time = sample(calls).wall;
      each = time / static_cast<double>(calls);
      if (time > std::min(calibration_time, seconds)) break;
    }
    const double calls = std::clamp(seconds / each, 1.0, static_cast<double>(most_calls));
    contender_->timing.calls = static_cast<std::uint64_t>(calls);
  }

  // It has `share` of the `seconds` of its row.
  bool wants_a_turn(double share, double seconds) const {
    return wall_.empty() || spent_ < (wall_.size() < least_turns ? seconds : share);
  }

  void take_turn() {
    wait_until_idle();
    sample(1);
    const Moment time = sample(contender_->timing.calls);
    const auto calls = static_cast<double>(contender_->timing.calls);
    spent_ += time.wall;
    wall_.push_back(time.wall / calls);
    processor_.push_back(time.processor / calls);
  }

  void finish() {
    Timing &timing = contender_->timing;
    timing.turns = wall_.size();
    timing.wall = figure_of(std::move(wall_));
    timing.processor = figure_of(std::move(processor_));
  }

 private:
  static Prepared prepare(const Workload &row, const Backend &backend) {
    const ThreadBackend here(backend);
    return Prepared(row);
  }

  Moment sample(std::uint64_t calls) {
    const ThreadBackend here(*contender_->backend);
    const Moment start = now();
    for (std::uint64_t i = 0; i < calls; ++i) call_.call();
    wait_for_device();
    const Moment end = now();
    return {end.wall - start.wall, end.processor - start.processor};
  }

  Contender *contender_;
  Prepared call_;
  std::vector<double> wall_;
  std::vector<double> processor_;
  double spent_ = 0;
};

// A failure becomes the contender's error.
template <class Step>
bool succeeds(Contender &contender, Step step) {
  try {
    step();
  } catch (const std::exception &error) {
    contender.error = error.what();
  }
  return contender.error.empty();
}

}  // namespace

Moment now() { return {seconds_on(CLOCK_MONOTONIC), seconds_on(CLOCK_PROCESS_CPUTIME_ID)}; }

Figure figure_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto quantile = [&](double share) {
    const double place = share * static_cast<double>(seconds.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, seconds.size() - 1);
    return std::lerp(seconds[low], seconds[high], place - static_cast<double>(low));
  };
  const double median = quantile(0.5);
  const double spread = median > 0 ? (quantile(0.75) - quantile(0.25)) / median : 0;
  return {median, seconds.front(), spread};
}

void take_turns(const Workload &row, std::vector<Contender> &contenders, double seconds) {
  const double share = seconds / static_cast<double>(contenders.size());
  std::list<Player> players;
  Values expected;
  for (Contender &contender : contenders) {
    const bool is_ready = succeeds(contender, [&] {
      Player &player = players.emplace_back(row, contender);
      Values values = player.values();
      if (expected.empty()) {
        expected = std::move(values);
      } else {
        contender.agrees = do_agree(expected, values);
      }
      player.calibrate(share / wanted_turns);
    });
    if (!is_ready && !players.empty() && &players.back().contender() == &contender) {
      players.pop_back();
    }
  }
  expected = {};

  const auto take_turn = [&](Player &player, bool &is_over) {
    if (!player.contender().error.empty() || !player.wants_a_turn(share, seconds)) return;
    is_over = false;
    succeeds(player.contender(), [&] { player.take_turn(); });
  };
  bool is_over = false;
  while (!is_over) {
    is_over = true;
    for (Player &player : players) take_turn(player, is_over);
    players.reverse();  // so that each follows each
  }
  for (Player &player : players) {
    if (player.contender().error.empty()) player.finish();
  }
}

double cost_of_calling() {
  Workload nothing;
  nothing.host_call = [](const Case &, const Inputs &, HostArrays &) { return Results{}; };
  Prepared call(nothing);
  constexpr int calls = 100'000;
  std::vector<double> seconds;
  for (int i = 0; i < 9; ++i) {
    const double start = now().wall;
    for (int k = 0; k < calls; ++k) call.call();
    seconds.push_back((now().wall - start) / calls);
  }
  return figure_of(seconds).median;
}

}  // namespace torchlean::tools
