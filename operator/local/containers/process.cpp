#include "operator/local/containers/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/os/file.h"

namespace attune::local {
namespace {

constexpr int kMarkedRoundsMax = 100;  // of 5 ms
constexpr size_t kEnvironmentBytesMax = 1 << 20;
constexpr int kDescriptorsMax = 65536;  // closed one by one where the kernel has no close_range

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void CloseFrom(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  for (int descriptor = first; descriptor < kDescriptorsMax; ++descriptor) close(descriptor);
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> processes;
  DIR* directory = opendir("/proc");
  if (directory == nullptr) return processes;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') processes.push_back(std::atoi(entry->d_name));
  }
  closedir(directory);
  return processes;
}

// Parent of a living process; 0 for zombies and processes that are gone.
pid_t ParentOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  const size_t name_end = text.rfind(')');  // the name may hold anything
  char state = 0;
  int parent = 0;
  if (name_end == std::string::npos || std::sscanf(text.c_str() + name_end + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : parent;
}

bool CarriesMark(pid_t process, const std::string& mark) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  std::string text;
  size_t bytes = 0;
  while (bytes < kEnvironmentBytesMax && std::getline(file, text, '\0')) {
    if (text == mark) return true;
    bytes += text.size() + 1;
  }
  return false;
}

}  // namespace

StatusOr<Process> Process::Start(const ProcessOptions& options) {
  std::vector<std::string> words = options.shim_command;
  words.push_back("--log=" + options.log_file.string());
  words.push_back("--log-bytes=" + std::to_string(options.log_bytes_max));
  words.push_back("--directory=" + options.directory.string());
  for (const std::string& file : options.cgroup_files) words.push_back("--cgroup=" + file);
  words.emplace_back("--");
  words.push_back(options.program.string());
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = options.environment;
  environment.push_back(std::string(kContainerMark) + "=" + options.container_id);
  const std::vector<char*> argv = Pointers(words);
  const std::vector<char*> envp = Pointers(environment);

  std::array<int, 2> sockets{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return Error(StatusCode::kResourceExhausted, "cannot start " + options.program.string() + ": " + ErrnoText(errno));
  }
  FileDescriptor own(sockets[0]);
  const FileDescriptor passed(sockets[1]);
  const pid_t shim = fork();
  if (shim == 0) {  // only async-signal-safe calls from here: other threads' locks were copied as they stood
    if (passed.get() == kShimSocket) {
      fcntl(kShimSocket, F_SETFD, 0);
    } else {
      dup2(passed.get(), kShimSocket);
    }
    CloseFrom(kShimSocket + 1);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  if (shim < 0) {
    return Error(StatusCode::kResourceExhausted, "cannot start " + options.program.string() + ": " + ErrnoText(errno));
  }
  return Process(shim, std::move(own), options.container_id);
}

Process::Process(Process&& other) noexcept
    : shim_(std::exchange(other.shim_, -1)),
      socket_(std::move(other.socket_)),
      container_id_(std::move(other.container_id_)),
      kill_asked_(other.kill_asked_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    Release();
    shim_ = std::exchange(other.shim_, -1);
    socket_ = std::move(other.socket_);
    container_id_ = std::move(other.container_id_);
    kill_asked_ = other.kill_asked_;
  }
  return *this;
}

Process::~Process() { Release(); }

void Process::Release() {
  Kill();
  if (shim_ > 0) {
    // The shim needs a moment for its descendants; should it be stuck, it is killed and they are found by their mark.
    int code = 0;
    for (int round = 0; round < 2 * kMarkedRoundsMax && shim_ > 0; ++round) {
      if (Poll(code)) break;
      poll(nullptr, 0, 5);
    }
    if (shim_ > 0) {
      kill(shim_, SIGKILL);
      waitpid(shim_, nullptr, 0);
      KillMarked(container_id_);
      shim_ = -1;
    }
  }
  socket_.Close();
}

bool Process::Poll(int& exit_code) {
  if (shim_ <= 0) return true;
  int status = 0;
  const pid_t ended = waitpid(shim_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  shim_ = -1;
  if (ended < 0 || WIFSIGNALED(status)) {
    // Another process killed the shim: its main process died with it, what that had forked did not.
    KillMarked(container_id_);
    exit_code = 128 + (ended < 0 ? SIGKILL : WTERMSIG(status));
    return true;
  }
  exit_code = WEXITSTATUS(status);
  return true;
}

void Process::Terminate() {
  if (shim_ > 0) kill(shim_, SIGTERM);
}

void Process::Kill() {
  if (shim_ > 0 && !std::exchange(kill_asked_, true)) shutdown(socket_.get(), SHUT_RDWR);
}

std::vector<pid_t> Descendants(pid_t process) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t candidate : AllProcesses()) children.emplace(ParentOf(candidate), candidate);
  std::vector<pid_t> found;
  std::vector<pid_t> todo{process};
  while (!todo.empty()) {
    const auto [begin, end] = children.equal_range(todo.back());
    todo.pop_back();
    for (auto at = begin; at != end; ++at) {
      found.push_back(at->second);
      todo.push_back(at->second);
    }
  }
  return found;
}

void KillMarked(const std::string& container_id) {
  const std::string mark = std::string(kContainerMark) + "=" + container_id;
  const pid_t self = getpid();
  for (int round = 0; round < kMarkedRoundsMax; ++round) {
    bool any = false;
    for (const pid_t process : AllProcesses()) {
      if (process == self || ParentOf(process) == 0 || !CarriesMark(process, mark)) continue;
      any = true;
      kill(process, SIGKILL);
    }
    if (!any) return;
    poll(nullptr, 0, 5);
  }
}

namespace {

enum class Candidate { kAbsent, kNotExecutable, kProgram };

Candidate Look(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Candidate::kAbsent;
  const bool runs = std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  return runs ? Candidate::kProgram : Candidate::kNotExecutable;
}

Status NotExecutable(const std::filesystem::path& path) {
  return Error(StatusCode::kPermissionDenied,
               path.string() + " is no executable file; make it one (chmod +x), or name another program");
}

StatusOr<std::filesystem::path> FindPath(const std::string& name, const std::filesystem::path& base) {
  const std::filesystem::path path = (base / name).lexically_normal();
  const Candidate found = Look(path);
  if (found == Candidate::kProgram) return path;
  if (found == Candidate::kNotExecutable) return NotExecutable(path);
  const std::string last = std::filesystem::path(name).filename().string();
  return Error(StatusCode::kNotFound,
               "there is no program " + path.string() +
                   (last.empty() ? ""
                                 : "; a path is taken as it is: correct it, or write " + last +
                                       " alone, which is looked up beside attune and on the PATH"));
}

}  // namespace

StatusOr<std::filesystem::path> FindProgram(const std::string& name,
                                            const std::vector<std::filesystem::path>& directories,
                                            const std::string& path, const std::filesystem::path& base) {
  if (name.find('/') != std::string::npos) return FindPath(name, base);
  std::vector<std::filesystem::path> places = directories;
  for (const std::string& directory : std::vector<std::string>(absl::StrSplit(path, ':'))) {
    if (!directory.empty()) places.emplace_back(directory);
  }
  std::string looked;
  std::optional<std::filesystem::path> not_executable;
  for (const std::filesystem::path& place : places) {
    const std::filesystem::path candidate = base / place / name;
    const Candidate found = name.empty() ? Candidate::kAbsent : Look(candidate);
    if (found == Candidate::kProgram) return candidate;
    if (found == Candidate::kNotExecutable && !not_executable) not_executable = candidate;
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  if (not_executable) return NotExecutable(*not_executable);
  return Error(StatusCode::kNotFound,
               "program \"" + name + "\" not found; looked in " + looked + "; build it, or add its directory to PATH");
}

}  // namespace attune::local
