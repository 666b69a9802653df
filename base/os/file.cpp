#include "base/os/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/os/file_descriptor.h"
#include "base/os/seen_from.h"

namespace attune {
namespace {

Status FileError(const std::filesystem::path& path, std::string_view doing, int error) {
  const StatusCode code = error == ENOENT                      ? StatusCode::kNotFound
                          : error == EACCES                    ? StatusCode::kPermissionDenied
                          : error == ENOSPC || error == EDQUOT ? StatusCode::kResourceExhausted
                                                               : StatusCode::kUnavailable;
  const std::string where = error == ENOENT || error == ENOTDIR ? SeenFrom(path) : "";
  return Error(code, std::string(doing) + " '" + path.string() + "': " + ErrnoText(error) + where);
}

Status WriteAll(const FileDescriptor& file, const std::filesystem::path& path, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(file.get(), content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "cannot write", errno);
    content.remove_prefix(static_cast<size_t>(n));
  }
  if (::fsync(file.get()) != 0) return FileError(path, "cannot sync", errno);
  return OkStatus();
}

}  // namespace

std::string ErrnoText(int error_number) { return std::generic_category().message(error_number); }

StatusOr<std::string> ReadFile(const std::filesystem::path& path, uint64_t bytes_max) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return FileError(path, "cannot open", errno);
  std::string content;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "cannot read", errno);
    if (n == 0) return content;
    if (content.size() + static_cast<size_t>(n) > bytes_max) {
      return Error(StatusCode::kResourceExhausted,
                   "'" + path.string() + "' is larger than the limit of " + std::to_string(bytes_max) + " bytes");
    }
    content.append(buffer, static_cast<size_t>(n));
  }
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  std::string temporary = path.string() + ".XXXXXX";
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return FileError(path, "cannot create a file beside", errno);
  Status status = WriteAll(file, path, content);
  if (status.ok() && ::fchmod(file.get(), mode) != 0) status = FileError(path, "cannot set the mode of", errno);
  if (const int error = file.Close(); error != 0 && status.ok()) status = FileError(path, "cannot close", error);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = FileError(path, "cannot replace", errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace attune
