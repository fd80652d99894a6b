// Starting, reading and ending the child.
#include "common/child.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace torchlean::tools {
namespace {

constexpr std::size_t longest_line = std::size_t{16} << 20U;

}  // namespace

Child::Child(const std::vector<std::string> &arguments) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
  }
  reports_ = ends[0];
  std::vector<std::string> words = {"torchlean"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string &word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], report_descriptor);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int error =
      posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(reports_);
    throw std::runtime_error(fmt::format("no worker process: {}", std::strerror(error)));
  }
}

Child::~Child() {
  finish();
  close(reports_);
}

std::optional<std::string> Child::read_line(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = pending_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    searched = pending_.size();
    if (searched > longest_line) return std::nullopt;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting = {reports_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      timed_out_ = true;
      return std::nullopt;
    }
    std::array<char, 65536> piece;
    const ssize_t count = read(reports_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    pending_.append(piece.data(), static_cast<std::size_t>(count));
  }
}

std::string Child::finish() {
  if (process_ < 0) return "has ended before";
  // After the end of its reports it has a moment to end by itself, so that its own way of ending is
  // told.
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 200 && !timed_out_ && ended == 0; ++i) {
    ended = waitpid(process_, &status, WNOHANG);
    if (ended == 0) usleep(5000);
  }
  if (ended == 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  process_ = -1;
  if (WIFEXITED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

void become_child() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

Reporter::Reporter() : file_(fdopen(Child::report_descriptor, "w")) {
  if (file_ == nullptr) throw std::runtime_error("a worker runs only below another torchlean");
}

void Reporter::say(const nlohmann::ordered_json &event) const {
  const std::string line =
      event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);  // a crash may be next
}

}  // namespace torchlean::tools
