#include "tests/local/cli/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace attune {

using Clock = std::chrono::steady_clock;

Program::Program(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
                 const std::map<std::string, std::string>& environment, const std::map<int, uint64_t>& limits,
                 const Surroundings& surroundings) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> words{const_cast<char*>(ATTUNE_PROGRAM)};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  child_ = fork();
  if (child_ == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    if (!surroundings.standard_output.empty()) {
      const int file = open(surroundings.standard_output.c_str(), O_WRONLY);
      if (file < 0 || dup2(file, STDOUT_FILENO) < 0) _exit(124);
    }
    if (surroundings.own_network && unshare(CLONE_NEWNET) != 0) _exit(kNoNetworkOfItsOwn);
    if (chdir(directory.c_str()) != 0) _exit(126);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    for (const auto& [resource, most] : limits) {
      const rlimit limit{most, most};
      if (setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) _exit(125);
    }
    execv(ATTUNE_PROGRAM, words.data());
    _exit(127);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

Program::~Program() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  close(pipe_);
}

bool Program::ReadSome(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd ready{pipe_, POLLIN, 0};
  if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) return false;
  char part[4096];
  const ssize_t got = read(pipe_, part, sizeof part);
  if (got <= 0) return false;
  output_.append(part, static_cast<size_t>(got));
  return true;
}

bool Program::AwaitOutput(const std::string& text, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (output_.find(text) == std::string::npos) {
    if (!ReadSome(deadline)) return false;
  }
  return true;
}

Outcome Program::AwaitEnd(std::chrono::seconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (ReadSome(deadline)) {
  }
  Outcome outcome;
  outcome.output = output_;
  if (Clock::now() >= deadline) return outcome;  // the destructor ends it
  int state = 0;
  waitpid(child_, &state, 0);
  child_ = 0;
  if (WIFEXITED(state)) outcome.code = WEXITSTATUS(state);
  return outcome;
}

void Program::Signal(int number) const { kill(child_, number); }

}  // namespace attune
