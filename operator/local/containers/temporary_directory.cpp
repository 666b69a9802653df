#include "operator/local/containers/temporary_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/os/file.h"

namespace attune::local {
namespace {

namespace fs = std::filesystem;

constexpr char kDirectoryPrefix[] = "attune-run-";
constexpr char kLock[] = "lock";
constexpr int kTries = 10;

bool IsOwnDirectory(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

// Whether the open file is still the one of that name: another process may have removed its directory meanwhile.
bool IsStillThere(int file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file, &opened) == 0 && lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

StatusOr<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Make(const fs::path& parent) {
  std::string name;
  for (int i = 0; i < kTries; ++i) {
    name = (parent / (std::string(kDirectoryPrefix) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) break;
    const fs::path lock = fs::path(name) / kLock;
    FileDescriptor file(open(lock.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    // Between the creation and the lock it looks stale; then another one is made.
    if (file.valid() && flock(file.get(), LOCK_EX | LOCK_NB) == 0 && IsStillThere(file.get(), lock))
      return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(name, std::move(file)));
  }
  return Error(StatusCode::kUnavailable, "cannot make a directory at " + name + ": " + ErrnoText(errno));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void RemoveStaleTemporaryDirectories(const fs::path& parent) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kDirectoryPrefix)) found.push_back(entry->path());
  }
  for (const fs::path& directory : found) {
    if (!IsOwnDirectory(directory)) continue;
    // One without the file is being made or removed, or is none of ours.
    const FileDescriptor file(open((directory / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!file.valid()) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(directory, error);
  }
}

fs::path SystemTemporaryDirectory() {
  std::error_code error;
  const fs::path directory = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : directory;
}

}  // namespace attune::local
