#include "operator/local/nodes/pod_logs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"

namespace attune::local {
namespace {

constexpr int kFollowPollMs = 50;
constexpr uint64_t kFollowFirstBytesMax = 1 << 20;

FileDescriptor OpenFile(const std::filesystem::path& path) {
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// At most `bytes_max` from the end of the file, which is left positioned after them; empty when there is none.
std::string ReadEnd(int file, uint64_t bytes_max) {
  struct stat info {};
  if (file < 0 || fstat(file, &info) != 0) return "";
  const auto size = static_cast<uint64_t>(info.st_size);
  const uint64_t start = size > bytes_max ? size - bytes_max : 0;
  std::string text(size - start, '\0');
  size_t have = 0;
  lseek(file, static_cast<off_t>(start), SEEK_SET);
  while (have < text.size()) {
    const ssize_t count = read(file, text.data() + have, text.size() - have);
    if (count <= 0) break;
    have += static_cast<size_t>(count);
  }
  text.resize(have);
  return text;
}

void KeepLines(std::string& text, std::optional<int64_t> lines) {
  if (!lines.has_value()) return;
  size_t at = text.size();
  if (at > 0 && text.back() == '\n') --at;
  for (int64_t i = 0; i < *lines; ++i) {
    const size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (newline == std::string::npos) return;
    at = newline;
  }
  text.erase(0, *lines <= 0 ? text.size() : at + 1);
}

}  // namespace

std::filesystem::path LogFile(const std::filesystem::path& pod_directory, const std::string& container,
                              int64_t restart) {
  return pod_directory / container / (std::to_string(restart) + ".log");
}

StatusOr<std::string> ReadLogTail(const std::filesystem::path& file, std::optional<int64_t> lines, uint64_t bytes_max) {
  const FileDescriptor current = OpenFile(file);
  if (!current.valid()) return Error(StatusCode::kNotFound, "no log at " + file.string() + ": " + ErrnoText(errno));
  std::string text = ReadEnd(current.get(), bytes_max);
  if (text.size() < bytes_max) {
    const FileDescriptor before = OpenFile(file.string() + ".1");
    text.insert(0, ReadEnd(before.get(), bytes_max - text.size()));
  }
  KeepLines(text, lines);
  return text;
}

Status FollowLog(const std::filesystem::path& path, std::optional<int64_t> lines,
                 const std::function<bool(std::string_view)>& on_text, const std::function<bool()>& ended,
                 MonotonicTime deadline, const TimeSource& time) {
  FileDescriptor file = OpenFile(path);
  if (!file.valid()) return Error(StatusCode::kNotFound, "no log at " + path.string() + ": " + ErrnoText(errno));
  std::string first = ReadEnd(file.get(), kFollowFirstBytesMax);
  KeepLines(first, lines);
  if (!first.empty() && !on_text(first)) return OkStatus();
  std::array<char, 65536> buffer;
  while (true) {
    const bool last_look = ended();  // asked before reading, so that nothing written earlier is missed
    while (true) {
      const ssize_t count = read(file.get(), buffer.data(), buffer.size());
      if (count <= 0) break;
      if (!on_text({buffer.data(), static_cast<size_t>(count)})) return OkStatus();
    }
    // Rotated: the open file is the old one, fully read by now.
    struct stat opened {
    }, named{};
    if (stat(path.c_str(), &named) == 0 && fstat(file.get(), &opened) == 0 && named.st_ino != opened.st_ino) {
      file = OpenFile(path);
      continue;
    }
    if (last_look) return OkStatus();
    if (time.Now() >= deadline)
      return Error(StatusCode::kDeadlineExceeded, "the log did not end within the time of the call");
    if (!on_text({})) return OkStatus();  // lets a caller that has gone away end a quiet log
    poll(nullptr, 0, kFollowPollMs);
  }
}

}  // namespace attune::local
