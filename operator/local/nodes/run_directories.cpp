#include "operator/local/nodes/run_directories.h"

#include <string>
#include <utility>

#include "base/os/file.h"
#include "operator/local/containers/private_directory.h"

namespace attune::local {
namespace {

constexpr size_t kVolumesPathBytesMax =
    50;  // beyond it volumes move to the temporary directory: socket paths are short

// Better now than in a reason that each pod gives some seconds later.
Status ProveSpace(const std::filesystem::path& root) {
  constexpr size_t kBytes = 256 << 10;  // tokens, the first lines of logs
  const std::filesystem::path file = root / "volumes" / "space";
  const Status written = WriteFileAtomically(file, std::string(kBytes, ' '));
  std::error_code error;
  std::filesystem::remove(file, error);
  if (written.ok()) return OkStatus();
  return Error(written.code(), "the run directory cannot be written: " + std::string(Message(written)) +
                                   "; free some space, or choose another with --run-directory");
}

}  // namespace

std::filesystem::path PodDirectory(const std::filesystem::path& root, const kube::ObjectKey& pod) {
  return root / "pods" / pod.name_space / pod.name;
}

StatusOr<RunDirectories> RunDirectories::Make(const std::filesystem::path& root) {
  RunDirectories made;
  std::error_code error;
  made.root_ = std::filesystem::absolute(root, error);
  for (const char* name : {"pods", "volumes"}) RETURN_IF_ERROR(MakePrivateDirectory(made.root_ / name));
  std::filesystem::create_directories(made.claims(), error);
  if (error) return Error(StatusCode::kUnavailable, "cannot make " + made.claims().string() + ": " + error.message());
  RETURN_IF_ERROR(ProveSpace(made.root_));
  RemoveStaleTemporaryDirectories(SystemTemporaryDirectory());
  made.volumes_ = made.root_ / "volumes";
  if (made.volumes_.string().size() <= kVolumesPathBytesMax) return made;
  auto temporary = TemporaryDirectory::Make(SystemTemporaryDirectory());
  if (!temporary.ok()) return Annotate(temporary.status(), "the run directory's path is too long for sockets");
  made.temporary_ = *std::move(temporary);
  made.volumes_ = made.temporary_->path();
  return made;
}

std::filesystem::path RunDirectories::OfPod(const kube::ObjectKey& pod) const { return PodDirectory(root_, pod); }

}  // namespace attune::local
