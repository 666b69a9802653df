#include "ps/checkpoint/format/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"
#include "base/os/seen_from.h"

namespace attune::ps {
namespace {

namespace fs = std::filesystem;

Status SystemError(const fs::path& path, std::string_view doing, int error) {
  StatusCode code = StatusCode::kUnavailable;
  std::string hint;
  if (error == ENOENT || error == ENOTDIR) {
    code = StatusCode::kNotFound;
    hint = SeenFrom(path);
  }
  if (error == EEXIST) code = StatusCode::kAlreadyExists;
  if (error == EACCES || error == EPERM || error == EROFS) {
    code = StatusCode::kPermissionDenied;
    hint = error == EROFS ? "; mount the volume for writing" : "; check the owner and mode of the directory";
  }
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    code = StatusCode::kResourceExhausted;
    hint = "; make room and save again, earlier checkpoints are untouched";
  }
  return Error(code, std::string(doing) + " '" + path.string() + "': " + ErrnoText(error) + hint);
}

// A file above the process's size limit raises SIGXFSZ, whose default ends the process; blocked, write returns EFBIG.
class BlockedFileSizeSignal {
 public:
  BlockedFileSizeSignal() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~BlockedFileSizeSignal() {
    const timespec at_once{};
    if (::sigismember(&before_, SIGXFSZ) == 0) ::sigtimedwait(&signal_, nullptr, &at_once);  // take a pending one
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedFileSizeSignal(const BlockedFileSizeSignal&) = delete;
  BlockedFileSizeSignal& operator=(const BlockedFileSizeSignal&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
};

class RealWritableFile final : public WritableFile {
 public:
  RealWritableFile(fs::path path, FileDescriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Status Append(std::string_view bytes) override {
    const BlockedFileSizeSignal blocked;
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(path_, "cannot write", errno);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return OkStatus();
  }
  Status Sync() override { return ::fsync(fd_.get()) == 0 ? OkStatus() : SystemError(path_, "cannot sync", errno); }
  Status Close() override {
    const int error = fd_.Close();
    return error == 0 ? OkStatus() : SystemError(path_, "cannot close", error);
  }

 private:
  const fs::path path_;
  FileDescriptor fd_;
};

class RealReadableFile final : public ReadableFile {
 public:
  RealReadableFile(fs::path path, FileDescriptor fd, uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  uint64_t size() const override { return size_; }
  Status ReadAt(uint64_t offset, std::span<char> bytes) const override {
    while (!bytes.empty()) {
      const ssize_t n = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return SystemError(path_, "cannot read", errno);
      if (n == 0) {
        return Error(StatusCode::kDataLoss, "'" + path_.string() + "' became shorter while it was read; it ends at " +
                                                "byte " + std::to_string(offset));
      }
      bytes = bytes.subspan(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return OkStatus();
  }

 private:
  const fs::path path_;
  const FileDescriptor fd_;
  const uint64_t size_;
};

class RealFiles final : public FileSystem {
 public:
  StatusOr<std::unique_ptr<WritableFile>> Create(const fs::path& path) override {
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd.valid()) return SystemError(path, "cannot create", errno);
    return std::make_unique<RealWritableFile>(path, std::move(fd));
  }
  StatusOr<std::unique_ptr<ReadableFile>> Open(const fs::path& path) override {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return SystemError(path, "cannot open", errno);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return SystemError(path, "cannot look at", errno);
    if (!S_ISREG(info.st_mode)) return Error(StatusCode::kNotFound, "'" + path.string() + "' is not a file");
    return std::make_unique<RealReadableFile>(path, std::move(fd), static_cast<uint64_t>(info.st_size));
  }
  StatusOr<std::vector<std::string>> List(const fs::path& directory) override {
    std::error_code error;
    std::vector<std::string> names;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return SystemError(directory, "cannot list", error.value());
    return names;
  }
  Status Rename(const fs::path& from, const fs::path& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? OkStatus() : SystemError(to, "cannot rename to", errno);
  }
  Status Remove(const fs::path& path) override {
    return ::unlink(path.c_str()) == 0 ? OkStatus() : SystemError(path, "cannot remove", errno);
  }
  Status SyncDirectory(const fs::path& directory) override {
    const FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return SystemError(directory, "cannot open the directory", errno);
    // Some network file systems cannot sync a directory and make renames durable by themselves.
    if (::fsync(fd.get()) == 0 || errno == EINVAL || errno == ENOTSUP) return OkStatus();
    return SystemError(directory, "cannot sync the directory", errno);
  }
  Status CreateDirectories(const fs::path& directory) override {
    std::error_code error;
    const bool is_new = fs::create_directories(directory, error);
    if (error) return SystemError(directory, "cannot create the directory", error.value());
    return is_new && directory.has_parent_path() ? SyncDirectory(directory.parent_path()) : OkStatus();
  }
};

}  // namespace

FileSystem& RealFileSystem() {
  static RealFiles files;
  return files;
}

StatusOr<std::string> ReadWhole(FileSystem& files, const fs::path& path, uint64_t bytes_max) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.Open(path));
  if (file->size() > bytes_max) {
    return Error(StatusCode::kResourceExhausted, "'" + path.string() + "' has " + std::to_string(file->size()) +
                                                     " bytes, at most " + std::to_string(bytes_max) + " are read");
  }
  std::string bytes(file->size(), '\0');
  RETURN_IF_ERROR(file->ReadAt(0, bytes));
  return bytes;
}

}  // namespace attune::ps
