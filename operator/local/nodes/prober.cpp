#include "operator/local/nodes/prober.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "base/os/file_descriptor.h"
#include "base/time_source.h"

namespace attune::local {
namespace {

constexpr size_t kQueuedMax = 4096;

int MillisecondsLeft(MonotonicTime deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SystemTime().Now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// A connected socket, or none.
FileDescriptor Connect(const std::string& ip, int port, MonotonicTime deadline) {
  FileDescriptor file(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!file.valid()) return file;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  if (connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return file;
  pollfd wait{file.get(), POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  if (errno == EINPROGRESS && poll(&wait, 1, MillisecondsLeft(deadline)) == 1 &&
      getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
    return file;
  }
  return {};
}

bool ProbeHttp(const ProbeRequest& request, MonotonicTime deadline) {
  const FileDescriptor file = Connect(request.ip, request.probe.port, deadline);
  if (!file.valid()) return false;
  const std::string path = request.probe.path.empty() ? "/" : request.probe.path;
  const std::string text = "GET " + path + " HTTP/1.1\r\nHost: " + request.ip + "\r\nConnection: close\r\n\r\n";
  bool success = send(file.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  std::string answer;
  while (success && answer.size() < 13) {  // "HTTP/1.1 200 "
    pollfd wait{file.get(), POLLIN, 0};
    std::array<char, 64> buffer{};
    const ssize_t count =
        poll(&wait, 1, MillisecondsLeft(deadline)) == 1 ? recv(file.get(), buffer.data(), buffer.size(), 0) : -1;
    if (count <= 0) break;
    answer.append(buffer.data(), static_cast<size_t>(count));
  }
  return success && answer.starts_with("HTTP/1.") && answer.size() >= 12 && (answer[9] == '2' || answer[9] == '3');
}

bool ProbeExec(const ProbeRequest& request, MonotonicTime deadline) {
  if (request.command.empty()) return false;
  std::vector<char*> argv, envp;
  for (const std::string& word : request.command) argv.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& variable : request.environment) envp.push_back(const_cast<char*>(variable.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int file : {0, 1, 2})
    posix_spawn_file_actions_addopen(&files, file, "/dev/null", file == 0 ? O_RDONLY : O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int error = posix_spawn(&child, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return false;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (MillisecondsLeft(deadline) == 0) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return false;
    }
    poll(nullptr, 0, 5);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

bool RunProbe(const ProbeRequest& request) {
  const auto deadline = SystemTime().Now() + std::chrono::seconds(request.probe.timeout_seconds);
  switch (request.probe.kind) {
    case Probe::Kind::kHttpGet:
      return ProbeHttp(request, deadline);
    case Probe::Kind::kExec:
      return ProbeExec(request, deadline);
    case Probe::Kind::kTcpSocket:
      break;
  }
  return Connect(request.ip, request.probe.port, deadline).valid();
}

Prober::Prober() : thread_([this] { Loop(); }) {}

Prober::~Prober() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    queue_.clear();
    changed_.NotifyAll();
  }
  thread_.join();
}

bool Prober::Submit(ProbeRequest request) {
  const MutexLock lock(mutex_);
  if (queue_.size() >= kQueuedMax) return false;
  queue_.push_back(std::move(request));
  changed_.NotifyAll();
  return true;
}

void Prober::Loop() {
  ReleasableMutexLock lock(mutex_);
  while (true) {
    while (!stopping_ && queue_.empty()) changed_.Wait(mutex_);
    if (stopping_) return;
    const ProbeRequest request = std::move(queue_.front());
    queue_.pop_front();
    lock.Release();
    request.on_result(RunProbe(request));
    lock.Acquire();
  }
}

}  // namespace attune::local
