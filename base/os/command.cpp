#include "base/os/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"

namespace attune {
namespace {

constexpr int kLookMilliseconds = 20;    // between two looks at time, cancellation and end
constexpr int kEndLookMilliseconds = 1;  // once everything is read and only the end is missing
constexpr int kFirstInheritedFile = 3;   // all files from here on are closed in the program
constexpr int kPiecesAtOnce = 64;        // read before time is looked at again: a program may write without end

// What the program writes into, and what is kept of it.
struct Pipe {
  FileDescriptor reader, writer;
  std::string text;
  size_t bytes_max = 0;
  bool overflowed = false;

  bool Open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
    return ::fcntl(reader.get(), F_SETFL, O_NONBLOCK) == 0;
  }
  // Reads what is there, keeps what there is room for, and closes the reader at the end.
  void Drain() {
    std::array<char, 16384> piece;
    for (int pieces = 0; reader.valid() && pieces < kPiecesAtOnce; ++pieces) {
      const ssize_t count = ::read(reader.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return void(reader.Close());
      const size_t room = bytes_max - text.size();
      overflowed = overflowed || static_cast<size_t>(count) > room;
      text.append(piece.data(), std::min(static_cast<size_t>(count), room));
    }
  }
};

// posix_spawn's two bags of settings, destroyed in any case.
class SpawnSettings {
 public:
  SpawnSettings(int output, int errors) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    // Libraries open sockets without close-on-exec.
    ::posix_spawn_file_actions_addclosefrom_np(&files_, kFirstInheritedFile);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    // What this process ignores, SIGPIPE among it, a program does not expect to be ignored.
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

StatusOr<pid_t> Spawn(const Command& command, const Pipe& output, const Pipe& errors) {
  std::vector<std::string> words = {command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  const std::vector<char*> argv = Pointers(words), envp = Pointers(command.environment);
  const SpawnSettings settings(output.writer.get(), errors.writer.get());
  pid_t child = -1;
  const int error =
      ::posix_spawn(&child, command.program.c_str(), settings.files(), settings.attributes(), argv.data(), envp.data());
  if (error == 0) return child;
  const StatusCode code = error == ENOENT                      ? StatusCode::kNotFound
                          : error == EACCES || error == EPERM  ? StatusCode::kPermissionDenied
                          : error == EAGAIN || error == ENOMEM ? StatusCode::kResourceExhausted
                                                               : StatusCode::kInvalidArgument;
  return Error(code, "cannot run '" + command.program + "': " + ErrnoText(error));
}

// Whether the child has ended; `status` is as waitpid(2) gives it then.
bool HasEnded(pid_t child, int& status) {
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, WNOHANG);
  } while (ended < 0 && errno == EINTR);
  return ended != 0;  // another part of the process has reaped it: that is an end, too
}

void Kill(pid_t child, int& status) {
  ::kill(-child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

void WaitForMore(const Pipe& output, const Pipe& errors, MonotonicTime deadline, MonotonicTime now) {
  std::array<pollfd, 2> files;
  nfds_t open = 0;
  for (const Pipe* pipe : {&output, &errors}) {
    if (pipe->reader.valid()) files[open++] = {pipe->reader.get(), POLLIN, 0};
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  const int look = open == 0 ? kEndLookMilliseconds : kLookMilliseconds;
  ::poll(files.data(), open, static_cast<int>(std::clamp<int64_t>(left, 0, look)));
}

}  // namespace

StatusOr<CommandResult> RunCommand(const Command& command, const std::atomic<bool>* cancelled) {
  using End = CommandResult::End;
  const SystemTime time;
  const MonotonicTime deadline = time.Now() + command.timeout;
  Pipe output{.bytes_max = command.output_bytes_max}, errors{.bytes_max = command.errors_bytes_max};
  if (!output.Open() || !errors.Open()) {
    return Error(StatusCode::kResourceExhausted, "cannot run '" + command.program + "': " + ErrnoText(errno));
  }
  ASSIGN_OR_RETURN(const pid_t child, Spawn(command, output, errors));
  output.writer.Close();
  errors.writer.Close();
  CommandResult result;
  std::optional<End> killed;
  int status = 0;
  while (!killed) {
    const bool ended = HasEnded(child, status);  // before reading, so that nothing written before the end is missed
    output.Drain();
    errors.Drain();
    const MonotonicTime now = time.Now();
    if (output.overflowed) killed = End::kTooMuchOutput;
    if (ended) break;
    if (!killed && now >= deadline) killed = End::kTimedOut;
    if (!killed && cancelled != nullptr && cancelled->load()) killed = End::kCancelled;
    if (killed) {
      Kill(child, status);
    } else {
      WaitForMore(output, errors, deadline, now);
    }
  }
  result.end = killed ? *killed : WIFSIGNALED(status) ? End::kSignaled : End::kExited;
  result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  result.output = std::move(output.text);
  result.errors = std::move(errors.text);
  return result;
}

StatusOr<std::string> FindProgram(const std::string& name, std::string_view search_path) {
  if (name.find('/') != std::string::npos) return name;
  std::string_view left = search_path;
  while (!name.empty() && !left.empty()) {
    const std::string_view directory = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), directory.size() + 1));
    if (directory.empty()) continue;  // the present directory, which is anyone's
    const std::string path = std::string(directory) + "/" + name;
    struct stat file {};
    if (::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return Error(StatusCode::kNotFound,
               "there is no program '" + name + "' in the directories of PATH (" + std::string(search_path) + ")");
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& changes) {
  std::map<std::string_view, std::string_view> variables;  // by name
  const auto set = [&](std::string_view variable) {
    const size_t end = variable.find('=');
    if (end != std::string_view::npos) variables[variable.substr(0, end)] = variable;
  };
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) set(*variable);
  for (const std::string& variable : changes) set(variable);
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, variable] : variables) environment.emplace_back(variable);
  return environment;
}

}  // namespace attune
