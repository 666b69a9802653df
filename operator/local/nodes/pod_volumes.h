// Directories that stand for a pod's volumes: emptyDir (fresh, gone with the pod), persistentVolumeClaim (kept, shared
// by name), Secrets of the API (files, as they are when the pod starts), projected service-account tokens (a file,
// renewed in time) and hostPath (itself). One thread at a time.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/local/api/memory_api.h"

namespace attune::local {

class PodVolumes {
 public:
  // Makes the volumes of `pod` beneath `volumes_root`/<short id>; claims beneath `claims_root`.
  static StatusOr<PodVolumes> Make(const kube::Json& pod, const std::filesystem::path& volumes_root,
                                   const std::filesystem::path& claims_root, MemoryApi& api, WallTime now);
  const std::map<std::string, std::filesystem::path>& directories() const { return directories_; }
  // Writes tokens again that have used up most of their life.
  Status RenewTokens(MemoryApi& api, WallTime now);
  // Removes what is the pod's own. Claims stay.
  void Remove();

 private:
  struct TokenFile {
    std::filesystem::path path;
    std::string audience;
    std::chrono::seconds lifetime;
    WallTime renew_at;
  };
  Status MakeSecret(const kube::Json& volume, const std::filesystem::path& directory, MemoryApi& api) const;
  Status MakeProjected(const kube::Json& volume, const std::filesystem::path& directory);
  StatusOr<std::filesystem::path> MakeVolume(const kube::Json& volume, const std::filesystem::path& claims_root,
                                             MemoryApi& api);

  kube::ObjectKey pod_;
  std::filesystem::path own_;
  std::map<std::string, std::filesystem::path> directories_;
  std::vector<TokenFile> tokens_;
};

}  // namespace attune::local
