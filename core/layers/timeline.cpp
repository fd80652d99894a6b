// The timeline layer: Chrome's trace event format, one complete event ("ph": "X") for each call.
#include "layers/timeline.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

#include "layers/describe.hpp"
#include "layers/layer.hpp"
#include "selection/variables.hpp"
#include "status/error.hpp"
#include "status/log.hpp"

namespace torchlean {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// A JSON array that is complete after every event, however the process ends: each one overwrites
// the array's end and writes it anew, in one call of the system.
class EventFile {
 public:
  // Never destroyed: calls may end until the very end of the process.
  static EventFile &instance() {
    static auto *file = new EventFile(option("TORCHLEAN_TIMELINE"));
    return *file;
  }

  bool is_open() {
    const std::lock_guard guard(mutex_);
    return descriptor_ >= 0;
  }
  double time(Clock::time_point point) const { return microseconds(point - start_); }

  void add(std::string event) {
    const std::lock_guard guard(mutex_);
    if (descriptor_ < 0) return;
    event.insert(0, length_ == 0 ? "[\n" : ",\n");
    const std::size_t added = event.size();
    event += array_end;
    if (write(event)) {
      length_ += static_cast<off_t>(added);
      return;
    }
    const int error = errno;
    if (ftruncate(descriptor_, length_) != 0 || !write(array_end)) {
      log(TL_LOG_DEBUG, "the timeline's last event is cut off");
    }
    give_up("written on", error);
  }

 private:
  static constexpr std::string_view array_end = "\n]\n";

  explicit EventFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    if (const std::size_t place = path_.find("%p"); place != std::string::npos) {
      path_.replace(place, 2, std::to_string(getpid()));
    }
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    // Two processes would write into each other's events.
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX | LOCK_NB) != 0 ||
        ftruncate(descriptor_, 0) != 0) {
      give_up("opened", errno);
      return;
    }
    add(fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":"torchlean"}}}})",
                    getpid()));
  }

  // Over the array's end.
  bool write(std::string_view text) const {
    for (off_t place = length_; !text.empty();) {
      const ssize_t written = pwrite(descriptor_, text.data(), text.size(), place);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      place += written;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  void give_up(const char *what, int error) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
    log(TL_LOG_WARN, fmt::format("TORCHLEAN_TIMELINE: {} cannot be {}: {}", path_, what,
                                 error == EWOULDBLOCK
                                     ? "another process writes it (%p in the name tells them apart)"
                                     : std::strerror(error)));
  }

  std::string path_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  int descriptor_ = -1;
  off_t length_ = 0;  // without the array's end
};

// A call that has ended.
struct Ended {
  const char *family;
  const char *entry;
  Arguments arguments;
  Clock::time_point start;
  Clock::time_point end;
  const char *outcome;
};

void write_event(const Ended &call) {
  const Event event = event_of(call.family, call.entry);
  EventFile &file = EventFile::instance();
  std::string_view words = call.arguments.words();
  if (!words.empty()) words.remove_prefix(1);
  file.add(fmt::format(
      R"({{"name":"{}","cat":"{}.{}","ph":"X","ts":{:.3f},"dur":{:.3f},"pid":{},"tid":{},)"
      R"("args":{{"arguments":"{}","bytes_read":{},"bytes_made":{},"status":"{}"}}}})",
      event.name, call.family, call.entry, file.time(call.start),
      microseconds(call.end - call.start), getpid(), gettid(), words,
      call.arguments.operand_bytes(), event.bytes_made, call.outcome));
}

struct TimelineHook {
  template <class Forward, class... Values>
  static auto call(const char *family, const char *entry, const Forward &forward,
                   const Values &...arguments) {
    const auto start = Clock::now();
    const auto finish = [&](const char *outcome) {
      const auto end = Clock::now();
      try {
        write_event({family, entry, Arguments(arguments...), start, end, outcome});
      } catch (...) {
        // An event is lost; the call ends as it would without the layer.
      }
    };
    if constexpr (std::is_void_v<decltype(forward())>) {
      forward();
      finish("ok");
    } else {
      const tl_status status = forward();
      finish(status_name(status));
      return status;
    }
  }
};

}  // namespace

bool has_timeline() { return EventFile::instance().is_open(); }

LayeredInstance add_timeline_layer(const LayeredInstance &inner) {
  return add_layer<TimelineHook>(inner);
}

}  // namespace torchlean
