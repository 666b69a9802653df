#include "examples/package-graph/package_files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/os/file.h"
#include "base/time_source.h"

namespace attune::package_graph {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAptLists = "/var/lib/apt/lists";
constexpr const char* kInstalled = "/var/lib/dpkg/status";
constexpr const char* kAptHelper = "/usr/lib/apt/apt-helper";
constexpr Duration kUnpackingMax = std::chrono::minutes(1);
constexpr std::array<std::string_view, 5> kPacked = {".lz4", ".gz", ".xz", ".bz2", ".zst"};

bool IsPacked(const fs::path& path) {
  return std::find(kPacked.begin(), kPacked.end(), path.extension().string()) != kPacked.end();
}

std::vector<fs::path> ListsIn(const fs::path& directory) {
  std::vector<fs::path> lists;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = IsPacked(entry->path()) ? entry->path().stem() : entry->path().filename();
    if (name.string().ends_with("_Packages") || name == "Packages") lists.push_back(entry->path());
  }
  std::sort(lists.begin(), lists.end());
  return lists;
}

// Everything that comes out of a pipe until its other end is closed.
StatusOr<std::string> ReadPipe(int pipe, const fs::path& path) {
  const SystemTime time;
  const MonotonicTime deadline = time.Now() + kUnpackingMax;
  std::string text;
  std::array<char, 1 << 16> part;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - time.Now()).count();
    pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) == 0) {
      return Error(StatusCode::kDeadlineExceeded, "unpacking '" + path.string() + "' takes longer than a minute");
    }
    const ssize_t bytes = read(pipe, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return Error(StatusCode::kUnavailable, "unpacking '" + path.string() + "': " + ErrnoText(errno));
    if (bytes == 0) return text;
    if (text.size() + static_cast<size_t>(bytes) > kListBytesMax) {
      return Error(StatusCode::kResourceExhausted,
                   "'" + path.string() + "' unpacks to more than 512 MiB; name other lists with --lists");
    }
    text.append(part.data(), static_cast<size_t>(bytes));
  }
}

StatusOr<std::string> Unpack(const fs::path& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Error(StatusCode::kUnavailable, "cannot make a pipe: " + ErrnoText(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = kAptHelper, command = "cat-file", file = path.string();
  std::array<char*, 4> arguments = {program.data(), command.data(), file.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, kAptHelper, &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    return Error(StatusCode::kNotFound, "cannot unpack '" + file + "' with " + kAptHelper + ": " + ErrnoText(failed) +
                                            "; unpack it and name the result with --lists");
  }
  StatusOr<std::string> text = ReadPipe(ends[0], path);
  close(ends[0]);
  if (!text.ok()) kill(child, SIGKILL);
  int result = 0;
  while (waitpid(child, &result, 0) < 0 && errno == EINTR) {
  }
  if (text.ok() && result != 0) {
    return Error(StatusCode::kInvalidArgument,
                 std::string(kAptHelper) + " cannot unpack '" + file + "'; name other lists with --lists");
  }
  return text;
}

}  // namespace

StatusOr<std::vector<fs::path>> FindPackageLists(const std::vector<fs::path>& given) {
  std::vector<fs::path> lists;
  std::error_code error;
  for (const fs::path& path : given) {
    if (fs::is_directory(path, error)) {
      const std::vector<fs::path> inside = ListsIn(path);
      if (inside.empty()) {
        return Error(StatusCode::kNotFound, "no package list (..._Packages) lies in '" + path.string() + "'");
      }
      lists.insert(lists.end(), inside.begin(), inside.end());
    } else {
      lists.push_back(path);
    }
  }
  if (!given.empty()) return lists;
  lists = ListsIn(kAptLists);
  const bool can_unpack = access(kAptHelper, X_OK) == 0;
  std::erase_if(lists, [&](const fs::path& path) { return IsPacked(path) && !can_unpack; });
  if (lists.empty() && fs::exists(kInstalled, error)) lists.emplace_back(kInstalled);
  if (!lists.empty()) return lists;
  return Error(StatusCode::kNotFound, std::string("there are package lists neither in ") + kAptLists + " nor in " +
                                          kInstalled + "; name some with --lists");
}

StatusOr<std::string> ReadPackageList(const fs::path& path) {
  return IsPacked(path) ? Unpack(path) : ReadFile(path, kListBytesMax);
}

}  // namespace attune::package_graph
