// The parent of one container's processes. Promise: when the container ends, when the agent asks, or when the agent or
// this process dies in whatever way, none of the container's processes stays behind.
//
//   agent dies           its end of the socket (descriptor 3) closes; everything here is killed
//   main process ends    descendants that detached are children of this process by then (child subreaper); killed
//   this process dies    the main process dies with it (parent death signal); the agent, which sees its socket
//                        close, kills what that process had forked, found by the mark in its environment (process.h)
//
// Standard output and error of the container pass through here into a log file of bounded size.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/file_descriptor.h"
#include "operator/local/containers/pod_shim.h"
#include "operator/local/containers/process.h"

namespace attune::local {
namespace {

constexpr int kExitBadCommand = 127;
constexpr int kExitNotStarted = 126;
constexpr int kReapRoundsMax = 200;  // of 5 ms: how long killed processes may take to go

struct ShimOptions {
  std::string log_file;
  uint64_t log_bytes_max = 10 << 20;
  std::string directory;
  std::vector<std::string> cgroup_files;
  std::vector<char*> command;  // null-terminated
};

// <file> and, when that is full, <file>.1: at most twice the limit in all.
class BoundedLog {
 public:
  BoundedLog(std::string path, uint64_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) { Open(); }
  // What does not fit goes to the next file, within a line if need be: readers put the two together (pod_logs.h).
  void Write(const char* data, size_t size) {
    while (size > 0) {
      if (written_ >= bytes_max_) Rotate();
      const ssize_t count = write(file_.get(), data, std::min<uint64_t>(size, bytes_max_ - written_));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;  // a full disk loses log lines, not the training
      data += count;
      size -= static_cast<size_t>(count);
      written_ += static_cast<uint64_t>(count);
    }
  }

 private:
  void Rotate() {
    (void)std::rename(path_.c_str(), (path_ + ".1").c_str());
    Open();
  }
  void Open() {
    file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    written_ = 0;
  }
  std::string path_;
  uint64_t bytes_max_;
  uint64_t written_ = 0;
  FileDescriptor file_;
};

bool ParseArguments(int argc, char** argv, ShimOptions& options) {
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") {
      for (int j = i + 1; j < argc; ++j) options.command.push_back(argv[j]);
      options.command.push_back(nullptr);
      return options.command.size() > 1 && !options.log_file.empty();
    }
    const auto value = [&](std::string_view name) { return std::string(argument.substr(name.size())); };
    if (argument.starts_with("--log=")) options.log_file = value("--log=");
    if (argument.starts_with("--log-bytes="))
      options.log_bytes_max = std::max<uint64_t>(std::strtoull(value("--log-bytes=").c_str(), nullptr, 10), 1);
    if (argument.starts_with("--directory=")) options.directory = value("--directory=");
    if (argument.starts_with("--cgroup=")) options.cgroup_files.push_back(value("--cgroup="));
  }
  return false;
}

[[noreturn]] void RunContainer(const ShimOptions& options, pid_t shim, int output, const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shim) _exit(kExitNotStarted);  // the shim died before the line above
  setsid();
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  for (const std::string& file : options.cgroup_files) {
    const FileDescriptor cgroup(open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!cgroup.valid() || write(cgroup.get(), "0", 1) != 1)
      dprintf(output, "resource limit not applied: %s: %s\n", file.c_str(), std::strerror(errno));
  }
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) {
    dprintf(output, "cannot start in %s: %s\n", options.directory.c_str(), std::strerror(errno));
    _exit(kExitNotStarted);
  }
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  execv(options.command[0], options.command.data());
  dprintf(2, "cannot start %s: %s\n", options.command[0], std::strerror(errno));
  _exit(errno == ENOENT ? kExitBadCommand : kExitNotStarted);
}

int ExitCode(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

class Shim {
 public:
  Shim(const ShimOptions& options, int agent, int output, int signals, pid_t main)
      : log_(options.log_file, options.log_bytes_max), agent_(agent), output_(output), signals_(signals), main_(main) {}

  int Run() {
    while (!main_ended_) {
      std::array<pollfd, 3> waits{{{agent_, POLLIN, 0}, {output_, POLLIN, 0}, {signals_, POLLIN, 0}}};
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      if (waits[0].revents != 0) break;  // the agent is gone
      if (waits[1].revents != 0) CopyOutput();
      if (waits[2].revents != 0) OnSignals();
    }
    KillAndReap();
    while (CopyOutput()) {
    }
    return main_ended_ ? exit_code_ : 128 + SIGKILL;
  }

 private:
  bool CopyOutput() {
    std::array<char, 16384> buffer;
    const ssize_t count = read(output_, buffer.data(), buffer.size());
    if (count > 0) log_.Write(buffer.data(), static_cast<size_t>(count));
    if (count == 0) output_ = -1;  // poll ignores it from now on
    return count > 0;
  }

  void OnSignals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) {
        Reap();
      } else {
        kill(main_, static_cast<int>(info.ssi_signo));
      }
    }
  }

  // True while there are children.
  bool Reap() {
    while (true) {
      int status = 0;
      const pid_t child = waitpid(-1, &status, WNOHANG);
      if (child == main_) {
        main_ended_ = true;
        exit_code_ = ExitCode(status);
      }
      if (child == 0) return true;
      if (child < 0 && errno != EINTR) return false;
    }
  }

  // Descendants die in rounds: what a dying process forked meanwhile becomes a child of this process and is found next
  // time.
  void KillAndReap() {
    for (int round = 0; round < kReapRoundsMax && Reap(); ++round) {
      for (const pid_t process : Descendants(getpid())) kill(process, SIGKILL);
      CopyOutput();
      poll(nullptr, 0, round == 0 ? 0 : 5);
    }
  }

  BoundedLog log_;
  int agent_, output_, signals_;
  pid_t main_;
  bool main_ended_ = false;
  int exit_code_ = 0;
};

}  // namespace

int PodShimMain(int argc, char** argv) {
  ShimOptions options;
  if (!ParseArguments(argc, argv, options)) {
    std::fprintf(
        stderr,
        "pod-shim is started by attune itself and takes: --log=FILE [--directory=DIR] -- PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "pod-shim");
  fcntl(kShimSocket, F_SETFD, FD_CLOEXEC);

  sigset_t handled, before;
  sigemptyset(&handled);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&handled, signal);
  sigprocmask(SIG_BLOCK, &handled, &before);
  sigemptyset(&before);  // the container starts with nothing blocked, whatever the agent's thread had
  signal(SIGPIPE, SIG_IGN);

  std::array<int, 2> output{};
  const FileDescriptor signals(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid() || pipe2(output.data(), O_CLOEXEC) != 0) {
    std::fprintf(stderr, "cannot prepare a container: %s\n", std::strerror(errno));
    return kExitNotStarted;
  }
  const FileDescriptor reader(output[0]);
  FileDescriptor writer(output[1]);
  fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  const pid_t shim = getpid();
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    RunContainer(options, shim, writer.get(), before);
  }
  writer.Close();
  if (child < 0) {
    std::fprintf(stderr, "cannot start %s: %s\n", options.command[0], std::strerror(errno));
    return kExitNotStarted;
  }
  return Shim(options, kShimSocket, reader.get(), signals.get(), child).Run();
}

}  // namespace attune::local
