#include "operator/local/nodes/pod_volumes.h"

#include <algorithm>

#include "base/os/file.h"
#include "operator/kube/base64.h"
#include "operator/local/api/rules/kinds.h"
#include "operator/local/containers/private_directory.h"

namespace attune::local {
namespace {

using kube::Json;

const kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};
constexpr std::chrono::seconds kTokenLifetime{3600};
constexpr std::chrono::seconds kTokenLifetimeMin{600};

Status MakeDirectory(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return OkStatus();
  return Error(StatusCode::kUnavailable, "cannot make the directory " + path.string() + ": " + error.message());
}

// File names come from manifests: they stay inside their directory.
bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name.find('/') == std::string_view::npos &&
         name.find("..") == std::string_view::npos;
}

}  // namespace

StatusOr<PodVolumes> PodVolumes::Make(const Json& pod, const std::filesystem::path& volumes_root,
                                      const std::filesystem::path& claims_root, MemoryApi& api, WallTime now) {
  PodVolumes volumes;
  volumes.pod_ = kube::KeyOf(pod);
  volumes.own_ = volumes_root / std::string(kube::Uid(pod).substr(0, 8));  // short: Unix socket paths end at 107 bytes
  RETURN_IF_ERROR(MakePrivateDirectory(volumes.own_));
  for (const Json& volume : kube::At(pod, {"spec", "volumes"})) {
    const std::string name(kube::StringAt(volume, {"name"}));
    if (!IsDnsLabel(name))
      return Error(StatusCode::kInvalidArgument, "volume name \"" + name + "\" is not a DNS label");
    ASSIGN_OR_RETURN(volumes.directories_[name], volumes.MakeVolume(volume, claims_root, api));
  }
  RETURN_IF_ERROR(volumes.RenewTokens(api, now));
  return volumes;
}

StatusOr<std::filesystem::path> PodVolumes::MakeVolume(const Json& volume, const std::filesystem::path& claims_root,
                                                       MemoryApi& api) {
  const std::string name(kube::StringAt(volume, {"name"}));
  std::filesystem::path directory = own_ / name;
  if (volume.contains("persistentVolumeClaim")) {
    const std::string claim(kube::StringAt(volume, {"persistentVolumeClaim", "claimName"}));
    if (!IsDnsSubdomain(claim))
      return Error(StatusCode::kInvalidArgument,
                   "volume " + name + ": claimName \"" + claim + "\" is not a valid name");
    directory = claims_root / claim;
  } else if (volume.contains("projected")) {
    RETURN_IF_ERROR(MakePrivateDirectory(directory));
    RETURN_IF_ERROR(MakeProjected(volume, directory));
  } else if (volume.contains("secret")) {
    RETURN_IF_ERROR(MakePrivateDirectory(directory));
    RETURN_IF_ERROR(MakeSecret(volume, directory, api));
  } else if (volume.contains("hostPath")) {
    return std::filesystem::path(kube::StringAt(volume, {"hostPath", "path"}));
  } else if (!volume.contains("emptyDir") && volume.size() > 1) {  // one that says nothing is an emptyDir
    return Error(StatusCode::kInvalidArgument,
                 "volume " + name +
                     " is of a kind the local platform does not have; use emptyDir, persistentVolumeClaim, secret, "
                     "hostPath or a projected serviceAccountToken");
  }
  // A claim is the user's own data, with the mode that the user chose; the sidecar's socket lies in an emptyDir.
  RETURN_IF_ERROR(volume.contains("persistentVolumeClaim") ? MakeDirectory(directory)
                                                           : MakePrivateDirectory(directory));
  return directory;
}

// Like a kubelet, the pod waits until the Secret is there.
Status PodVolumes::MakeSecret(const Json& volume, const std::filesystem::path& directory, MemoryApi& api) const {
  const std::string name(kube::StringAt(volume, {"secret", "secretName"}));
  const StatusOr<Json> secret = api.Get(kSecrets, {pod_.name_space, name});
  if (!secret.ok()) {
    return Error(StatusCode::kFailedPrecondition, "Secret " + pod_.name_space + "/" + name + " of volume " +
                                                      std::string(kube::StringAt(volume, {"name"})) +
                                                      " is not there yet; create it, the pod starts then");
  }
  const Json& data = kube::At(*secret, {"data"});
  if (!data.is_object()) return OkStatus();
  for (const auto& [file, content] : data.items()) {
    if (!IsPlainFileName(file) || !content.is_string()) {
      return Error(StatusCode::kInvalidArgument, "Secret " + name + ": key \"" + file + "\" cannot be a file");
    }
    ASSIGN_OR_RETURN(const std::string bytes, kube::Base64Decode(content.get_ref<const std::string&>()));
    RETURN_IF_ERROR(WriteFileAtomically(directory / file, bytes, 0600));
  }
  return OkStatus();
}

Status PodVolumes::MakeProjected(const Json& volume, const std::filesystem::path& directory) {
  for (const Json& source : kube::At(volume, {"projected", "sources"})) {
    const Json& token = kube::At(source, {"serviceAccountToken"});
    const std::string file(kube::StringAt(token, {"path"}));
    if (!token.is_object() || !IsPlainFileName(file)) {
      return Error(StatusCode::kInvalidArgument,
                   "volume " + std::string(kube::StringAt(volume, {"name"})) +
                       ": only projected serviceAccountToken sources with a plain file name work here");
    }
    const std::chrono::seconds lifetime(kube::IntegerAt(token, {"expirationSeconds"}, kTokenLifetime.count()));
    tokens_.push_back({directory / file, std::string(kube::StringAt(token, {"audience"})),
                       std::max(lifetime, kTokenLifetimeMin), WallTime::min()});
  }
  return OkStatus();
}

Status PodVolumes::RenewTokens(MemoryApi& api, WallTime now) {
  for (TokenFile& file : tokens_) {
    if (now < file.renew_at) continue;
    ASSIGN_OR_RETURN(const std::string token, api.IssueToken(pod_, {file.audience}, now + file.lifetime));
    RETURN_IF_ERROR(WriteFileAtomically(file.path, token, 0600));
    file.renew_at = now + file.lifetime * 4 / 5;
  }
  return OkStatus();
}

void PodVolumes::Remove() {
  std::error_code error;
  if (!own_.empty()) std::filesystem::remove_all(own_, error);
  tokens_.clear();
}

}  // namespace attune::local
