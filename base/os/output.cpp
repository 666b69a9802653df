#include "base/os/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/os/file.h"
#include "base/os/seen_from.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr int kLinksMax = 40;  // as the kernel's
constexpr char kStandardOutputName[] = "standard output";

Status Refuse(const std::string& name, const std::string& why) {
  return Error(StatusCode::kInvalidArgument, "cannot write to '" + name + "': " + why);
}

Status CannotWrite(const std::string& name, int error, const std::string& where = "") {
  const StatusCode code = error == ENOENT || error == ENOTDIR  ? StatusCode::kNotFound
                          : error == EACCES || error == EROFS  ? StatusCode::kPermissionDenied
                          : error == ENOSPC || error == EDQUOT ? StatusCode::kResourceExhausted
                                                               : StatusCode::kUnavailable;
  return Error(code, "cannot write to " + name + ": " + ErrnoText(error) + where);
}

Status CannotWriteFile(const fs::path& path, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  return CannotWrite("'" + path.string() + "'", error, absent ? SeenFrom(path) : "");
}

// The file that is to be replaced: links are followed by hand, because the last one may lead to a file that is yet to
// be made.
StatusOr<fs::path> FollowLinks(const std::string& name) {
  fs::path path = name;
  std::error_code error;
  for (int i = 0; i < kLinksMax; ++i) {
    if (!fs::is_symlink(path, error)) return path;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return Refuse(name, error.message());
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return Refuse(name, "its symbolic links lead in a circle");
}

// That a file can be made there, or be replaced.
Status CheckDirectory(const fs::path& path) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return CannotWriteFile(path, errno);
  if (!S_ISDIR(info.st_mode)) return CannotWriteFile(path, ENOTDIR);
  if (::access(directory.c_str(), W_OK | X_OK) != 0) return CannotWriteFile(path, errno);
  return OkStatus();
}

bool IsStandardOutput(const struct stat& info) {
  struct stat standard {};
  return ::fstat(STDOUT_FILENO, &standard) == 0 && standard.st_dev == info.st_dev && standard.st_ino == info.st_ino &&
         standard.st_rdev == info.st_rdev;
}

}  // namespace

StatusOr<OutputPlace> FindOutputPlace(const std::string& name) {
  if (name == "-") return OutputPlace{OutputPlace::Kind::kStandardOutput, {}};
  if (name.empty()) return Refuse(name, "a name is needed; - is standard output");
  struct stat info {};
  if (::stat(name.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return Refuse(name, "it is a directory; name a file in it");
    if (S_ISBLK(info.st_mode)) return Refuse(name, "it is a disk; name a file");
    if (S_ISSOCK(info.st_mode)) return Refuse(name, "it is a socket; name a file or a pipe");
    if (IsStandardOutput(info)) return OutputPlace{OutputPlace::Kind::kStandardOutput, {}};
    if (::access(name.c_str(), W_OK) != 0) return CannotWriteFile(name, errno);
    if (!S_ISREG(info.st_mode)) return OutputPlace{OutputPlace::Kind::kStream, name};
  } else if (errno != ENOENT) {
    return CannotWriteFile(name, errno);
  }
  const bool is_new = !S_ISREG(info.st_mode);
  if (is_new && name.back() == '/') return Refuse(name, "it is a directory; name a file in it");
  OutputPlace place;
  ASSIGN_OR_RETURN(place.path, FollowLinks(name));
  if (!is_new) place.mode = info.st_mode & 07777;
  RETURN_IF_ERROR(CheckDirectory(place.path));
  return place;
}

StatusOr<std::unique_ptr<OutputStream>> OutputStream::Open(const OutputPlace& place) {
  if (place.kind == OutputPlace::Kind::kStandardOutput) {
    RETURN_IF_ERROR(FlushStandardOutput());  // what was printed before comes before
    FileDescriptor descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!descriptor.valid()) return CannotWrite(kStandardOutputName, errno);
    return std::unique_ptr<OutputStream>(new OutputStream(std::move(descriptor), kStandardOutputName));
  }
  FileDescriptor descriptor;
  do {
    descriptor = FileDescriptor(::open(place.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } while (!descriptor.valid() && errno == EINTR);
  if (!descriptor.valid()) return CannotWriteFile(place.path, errno);
  return std::unique_ptr<OutputStream>(new OutputStream(std::move(descriptor), "'" + place.path.string() + "'"));
}

Status OutputStream::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotWrite(name_, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return OkStatus();
}

Status OutputStream::Close() {
  const int error = descriptor_.Close();
  return error == 0 ? OkStatus() : CannotWrite(name_, error);
}

Status WriteOutput(const OutputPlace& place, std::string_view content) {
  if (place.kind == OutputPlace::Kind::kFile) return WriteFileAtomically(place.path, content, place.mode);
  ASSIGN_OR_RETURN(const std::unique_ptr<OutputStream> stream, OutputStream::Open(place));
  RETURN_IF_ERROR(stream->Write(content));
  return stream->Close();
}

Status FlushStandardOutput() {
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0) return CannotWrite(kStandardOutputName, errno);
  if (!failed_before) return OkStatus();
  return Error(StatusCode::kUnavailable, "cannot write to standard output; what was printed is incomplete");
}

}  // namespace attune
