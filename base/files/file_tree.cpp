#include "base/files/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/os/file.h"
#include "base/os/file_descriptor.h"

namespace attune {
namespace {

Status FileError(const std::string& path, std::string_view doing, int error) {
  const StatusCode code = error == EACCES || error == EPERM ? StatusCode::kPermissionDenied : StatusCode::kUnavailable;
  return Error(code, std::string(doing) + " '" + path + "': " + ErrnoText(error) +
                         (code == StatusCode::kPermissionDenied
                              ? "; its owner has to let the group or everybody read it (this is user " +
                                    std::to_string(::getuid()) + ", group " + std::to_string(::getgid()) + ")"
                              : ""));
}

Status NotTheSame(const std::string& path) {
  return Error(StatusCode::kAborted, "'" + path + "' was written to, replaced or removed since it was listed");
}

FileDescriptor OpenDirectory(int parent, const char* name) {
  return FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int64_t WrittenAt(const struct stat& state) {
  return int64_t{state.st_mtim.tv_sec} * 1'000'000'000 + state.st_mtim.tv_nsec;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

// One look at everything, directory by directory.
struct FileTree::Walk {
  const TimeSource& time;
  const MonotonicTime deadline;
  std::vector<Entry> found;
  uint64_t path_bytes = 0;
  size_t left_out = 0;

  Status Enter(FileDescriptor descriptor, const std::string& path, int depth) {
    const int own = descriptor.get();
    const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(own));
    if (directory == nullptr) return FileError(path, "cannot look into", errno);
    descriptor.Release();
    while (true) {
      errno = 0;
      const dirent* const entry = ::readdir(directory.get());
      if (entry == nullptr) return errno == 0 ? OkStatus() : FileError(path, "cannot look into", errno);
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      RETURN_IF_ERROR(Take(own, name, path.empty() ? name : path + "/" + name, depth));
    }
  }

  Status Take(int parent, const std::string& name, const std::string& path, int depth) {
    if (time.Now() > deadline) {
      return Error(StatusCode::kResourceExhausted,
                   "looking at the files took too long; the volume answers slowly, try again");
    }
    struct stat state;
    if (::fstatat(parent, name.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? OkStatus() : FileError(path, "cannot look at", errno);  // it went meanwhile
    }
    const bool is_directory = S_ISDIR(state.st_mode);
    if ((!is_directory && !S_ISREG(state.st_mode)) || !ProblemOfFilePath(path).empty() || depth >= kFileDepthMax) {
      ++left_out;
      return OkStatus();
    }
    if (is_directory) {
      FileDescriptor inner = OpenDirectory(parent, name.c_str());
      if (!inner.valid()) return errno == ENOENT ? OkStatus() : FileError(path, "cannot look into", errno);
      return Enter(std::move(inner), path, depth + 1);
    }
    path_bytes += path.size();
    if (found.size() == kListedFilesMax || path_bytes > kListedPathBytesMax) {
      return Error(StatusCode::kResourceExhausted, "there are more than " + std::to_string(kListedFilesMax) +
                                                       " files; pack small files into larger ones");
    }
    found.push_back({{path, static_cast<uint64_t>(state.st_size), WrittenAt(state)}, {state.st_dev, state.st_ino}});
    return OkStatus();
  }
};

StatusOr<FileTree> FileTree::Look(const std::filesystem::path& directory, const TimeSource& time,
                                  MonotonicTime deadline) {
  FileTree tree;
  tree.directory_ = directory;
  FileDescriptor root = OpenDirectory(AT_FDCWD, directory.c_str());
  if (!root.valid())
    return errno == ENOENT ? std::move(tree) : StatusOr<FileTree>(FileError(directory, "cannot look into", errno));
  Walk walk{time, deadline, {}, 0, 0};
  RETURN_IF_ERROR(walk.Enter(std::move(root), "", 0));
  std::ranges::sort(walk.found, {}, [](const Entry& entry) -> const std::string& { return entry.file.path; });
  for (Entry& entry : walk.found) {
    tree.listing_.files.push_back(std::move(entry.file));
    tree.identities_.push_back(entry.identity);
  }
  tree.listing_.total = tree.listing_.files.size();
  tree.listing_.left_out = walk.left_out;
  return tree;
}

StatusOr<std::string> FileTree::Read(size_t place, uint64_t offset, uint64_t bytes) const {
  if (place >= identities_.size()) return Error(StatusCode::kOutOfRange, "the listing has no file of that place");
  const ListedFile& listed = listing_.files[place];
  if (offset > listed.size) return Error(StatusCode::kOutOfRange, "'" + listed.path + "' ends before that offset");
  FileDescriptor at = OpenDirectory(AT_FDCWD, directory_.c_str());
  // Part by part: a link that took the place of a directory is not followed either.
  std::string_view rest = listed.path;
  for (size_t slash = 0; at.valid() && (slash = rest.find('/')) != std::string_view::npos;) {
    at = OpenDirectory(at.get(), std::string(rest.substr(0, slash)).c_str());
    rest.remove_prefix(slash + 1);
  }
  FileDescriptor file;
  if (at.valid()) {
    file =
        FileDescriptor(::openat(at.get(), std::string(rest).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  }
  if (!file.valid()) {
    const bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
    return gone ? NotTheSame(listed.path) : FileError(listed.path, "cannot open", errno);
  }
  std::string content(std::min(bytes, listed.size - offset), '\0');
  for (size_t filled = 0; filled < content.size();) {
    const ssize_t n =
        ::pread(file.get(), content.data() + filled, content.size() - filled, static_cast<off_t>(offset + filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(listed.path, "cannot read", errno);
    if (n == 0) return NotTheSame(listed.path);
    filled += static_cast<size_t>(n);
  }
  // After reading: what was written before is noticed, too.
  struct stat state;
  if (::fstat(file.get(), &state) != 0) return FileError(listed.path, "cannot look at", errno);
  const bool same = identities_[place] == Identity{state.st_dev, state.st_ino} &&
                    static_cast<uint64_t>(state.st_size) == listed.size && WrittenAt(state) == listed.written_at;
  return same ? StatusOr<std::string>(std::move(content)) : NotTheSame(listed.path);
}

}  // namespace attune
