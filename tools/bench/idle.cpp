// Reads the threads' states from /proc.
#include "bench/idle.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace torchlean::tools {
namespace {

using namespace std::chrono_literals;

// "1234 (name) R 1 ...": the name may hold anything.
bool is_running(const char *thread) {
  const int file =
      open(fmt::format("/proc/self/task/{}/stat", thread).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;  // it has ended
  std::array<char, 256> text;
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  if (length <= 0) return false;
  const std::string_view line(text.data(), static_cast<std::size_t>(length));
  return line.substr(line.rfind(')') + 1).starts_with(" R");
}

bool does_another_thread_run() {
  DIR *threads = opendir("/proc/self/task");
  if (threads == nullptr) return false;
  bool found = false;
  while (const dirent *entry = readdir(threads)) {
    const bool is_other = entry->d_name[0] != '.' && std::atoi(entry->d_name) != gettid();
    found = found || (is_other && is_running(entry->d_name));
  }
  closedir(threads);
  return found;
}

}  // namespace

void wait_until_idle() {
  const auto deadline = std::chrono::steady_clock::now() + 20ms;
  while (does_another_thread_run() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(200us);
  }
}

}  // namespace torchlean::tools
