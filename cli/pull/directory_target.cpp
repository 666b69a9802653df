#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "base/sha256.h"
#include "cli/pull/copy_target.h"

namespace attune::cli {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

Status TargetError(const std::string& path, const std::string& doing, int error) {
  const std::string what = doing + " '" + path + "': " + ErrnoText(error);
  switch (error) {
    case ENOTDIR:
    case ELOOP:
    case EISDIR:
      return Error(StatusCode::kFailedPrecondition,
                   "'" + path +
                       "': something else is in the way there, a link or a directory, which is not followed; "
                       "remove it, or name another directory");
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Error(StatusCode::kResourceExhausted,
                   what + "; make room and run the command again, it continues where it stopped");
    case EACCES:
    case EPERM:
    case EROFS:
      return Error(StatusCode::kPermissionDenied, what + "; name a directory that you may write to");
    default:
      return Error(StatusCode::kUnavailable, what);
  }
}

FileDescriptor OpenDirectoryAt(int parent, const std::string& name) {
  return FileDescriptor(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

class OpenedFile final : public TargetFile {
 public:
  OpenedFile(FileDescriptor file, std::string shown) : file_(std::move(file)), shown_(std::move(shown)) {}

  Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return TargetError(shown_, "cannot write", errno);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return OkStatus();
  }

  Status Finish() override {
    if (::fsync(file_.get()) != 0) return TargetError(shown_, "cannot write", errno);
    const int error = file_.Close();
    return error == 0 ? OkStatus() : TargetError(shown_, "cannot write", error);
  }

 private:
  FileDescriptor file_;
  const std::string shown_;
};

class DirectoryTarget final : public CopyTarget {
 public:
  DirectoryTarget(FileDescriptor root, std::string shown) : root_(std::move(root)), shown_(std::move(shown)) {}

  StatusOr<std::optional<uint64_t>> SizeOf(const std::string& path) override {
    ASSIGN_OR_RETURN(const Place place, Find(path, false));
    struct stat state;
    if (!place.parent.valid() || ::fstatat(place.parent.get(), place.name.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) {
      if (place.parent.valid() && errno != ENOENT) return TargetError(Shown(path), "cannot look at", errno);
      return std::optional<uint64_t>();
    }
    if (!S_ISREG(state.st_mode)) return TargetError(Shown(path), "cannot write", EISDIR);
    return std::optional(static_cast<uint64_t>(state.st_size));
  }

  StatusOr<std::string> Sum(const std::string& path, uint64_t offset, uint64_t bytes) override {
    ASSIGN_OR_RETURN(const FileDescriptor file, OpenAt(path, O_RDONLY, false));
    Sha256 digest;
    std::vector<char> buffer(kBufferBytes);
    while (bytes > 0) {
      const ssize_t n =
          ::pread(file.get(), buffer.data(), std::min<uint64_t>(bytes, buffer.size()), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return TargetError(Shown(path), "cannot read", errno);
      if (n == 0) return Error(StatusCode::kAborted, "'" + Shown(path) + "' became shorter while it was read");
      digest.Update({buffer.data(), static_cast<size_t>(n)});
      offset += static_cast<uint64_t>(n);
      bytes -= static_cast<uint64_t>(n);
    }
    return digest.Hex();
  }

  StatusOr<std::unique_ptr<TargetFile>> Open(const std::string& path, uint64_t keep) override {
    ASSIGN_OR_RETURN(FileDescriptor file, OpenAt(path, O_WRONLY | O_CREAT, true));
    if (::ftruncate(file.get(), static_cast<off_t>(keep)) != 0 || ::lseek(file.get(), 0, SEEK_END) < 0)
      return TargetError(Shown(path), "cannot write", errno);
    return std::make_unique<OpenedFile>(std::move(file), Shown(path));
  }

  Status Rename(const std::string& from, const std::string& to) override {
    ASSIGN_OR_RETURN(const Place old_place, Find(from, false));
    ASSIGN_OR_RETURN(const Place new_place, Find(to, true));
    if (::renameat(old_place.parent.get(), old_place.name.c_str(), new_place.parent.get(), new_place.name.c_str()) != 0)
      return TargetError(Shown(to), "cannot write", errno);
    return OkStatus();
  }

  Status Remove(const std::string& path) override {
    ASSIGN_OR_RETURN(const Place place, Find(path, false));
    if (!place.parent.valid() || ::unlinkat(place.parent.get(), place.name.c_str(), 0) == 0 || errno == ENOENT)
      return OkStatus();
    return TargetError(Shown(path), "cannot remove", errno);
  }

 private:
  struct Place {
    FileDescriptor parent;  // none where it is not there
    std::string name;
  };

  // Directory by directory, none of which may be a link.
  StatusOr<Place> Find(const std::string& path, bool make) const {
    Place place{FileDescriptor(::dup(root_.get())), path};
    for (size_t slash = 0; (slash = place.name.find('/')) != std::string::npos;) {
      const std::string part = place.name.substr(0, slash);
      if (make && ::mkdirat(place.parent.get(), part.c_str(), 0777) != 0 && errno != EEXIST)
        return TargetError(Shown(path), "cannot make the directory of", errno);
      FileDescriptor inner = OpenDirectoryAt(place.parent.get(), part);
      if (!inner.valid() && (make || errno != ENOENT))
        return TargetError(Shown(path), "cannot open the directory of", errno);
      place.parent = std::move(inner);
      if (!place.parent.valid()) return place;
      place.name.erase(0, slash + 1);
    }
    return place;
  }

  StatusOr<FileDescriptor> OpenAt(const std::string& path, int flags, bool make) const {
    ASSIGN_OR_RETURN(const Place place, Find(path, make));
    // Not blocking: whatever lies there, opening it does not wait.
    FileDescriptor file(
        ::openat(place.parent.get(), place.name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!file.valid()) return TargetError(Shown(path), "cannot open", errno);
    struct stat state;
    if (::fstat(file.get(), &state) != 0) return TargetError(Shown(path), "cannot look at", errno);
    if (!S_ISREG(state.st_mode)) return TargetError(Shown(path), "cannot open", EISDIR);
    return file;
  }

  std::string Shown(const std::string& path) const { return shown_ + "/" + path; }

  const FileDescriptor root_;
  const std::string shown_;
};

}  // namespace

StatusOr<std::unique_ptr<CopyTarget>> OpenDirectoryTarget(const std::filesystem::path& directory) {
  const std::string shown = directory.string();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  FileDescriptor root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return TargetError(shown, "cannot make", error ? error.value() : errno);
  return std::make_unique<DirectoryTarget>(std::move(root), shown);
}

}  // namespace attune::cli
