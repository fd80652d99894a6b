// Children for tests: fork, exec, files for the output.
#include "support/process.hpp"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace torchlean_test {
namespace {

// A temporary file that vanishes with its descriptor.
class Capture {
 public:
  Capture() : file_(tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file");
  }
  ~Capture() { fclose(file_); }
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  int descriptor() const { return fileno(file_); }
  std::string text() const {
    std::string all;
    char piece[4096];
    rewind(file_);
    while (const size_t length = fread(piece, 1, sizeof piece, file_)) all.append(piece, length);
    return all;
  }

 private:
  FILE *file_;
};

[[noreturn]] void become(const std::vector<std::string> &command,
                         const std::map<std::string, std::string> &environment,
                         const std::string &folder, int out, int err, int seconds) {
  std::vector<std::string> names;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("TORCHLEAN_", 0) == 0) names.push_back(text.substr(0, text.find('=')));
  }
  for (const std::string &name : names) unsetenv(name.c_str());
  for (const auto &[name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(126);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char *> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  alarm(static_cast<unsigned>(seconds));
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

Finished run(const std::vector<std::string> &command,
             const std::map<std::string, std::string> &environment, const std::string &folder,
             int seconds) {
  const Capture out;
  const Capture err;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(command, environment, folder, out.descriptor(), err.descriptor(), seconds);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text(), err.text()};
}

}  // namespace torchlean_test
