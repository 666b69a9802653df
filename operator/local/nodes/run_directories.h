// The directories of a run that the node agent keeps pods in.
#pragma once

#include <filesystem>
#include <memory>

#include "base/status.h"
#include "operator/kube/object.h"
#include "operator/local/containers/temporary_directory.h"

namespace attune::local {

// <root>/pods/<namespace>/<pod>
std::filesystem::path PodDirectory(const std::filesystem::path& root, const kube::ObjectKey& pod);

class RunDirectories {
 public:
  // Makes what is missing below `root`, and proves that there is space. Volumes lie elsewhere where the paths of
  // sockets in them would be too long.
  static StatusOr<RunDirectories> Make(const std::filesystem::path& root);

  const std::filesystem::path& root() const { return root_; }
  const std::filesystem::path& volumes() const { return volumes_; }
  std::filesystem::path claims() const { return root_ / "claims"; }
  std::filesystem::path OfPod(const kube::ObjectKey& pod) const;

 private:
  std::filesystem::path root_;
  std::filesystem::path volumes_;
  std::unique_ptr<TemporaryDirectory> temporary_;
};

}  // namespace attune::local
