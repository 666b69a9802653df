#include "operator/local/containers/private_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/os/file.h"

namespace attune::local {

Status MakePrivateDirectory(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return Error(StatusCode::kUnavailable,
                 "cannot make the directory " + path.parent_path().string() + ": " + error.message());
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error(StatusCode::kUnavailable, "cannot make the directory " + path.string() + ": " + ErrnoText(errno));
  }
  struct stat info {};
  const bool ours = lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
  if (ours && ((info.st_mode & 0777) == 0700 || chmod(path.c_str(), 0700) == 0)) return OkStatus();
  return Error(StatusCode::kPermissionDenied,
               path.string() + " must be a directory of yours that only you may enter; remove it or choose another");
}

}  // namespace attune::local
