#include "cli/pull/model_place.h"

#include <filesystem>

#include "operator/controller/objects/pods.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

using kube::Json;
using kube::StringAt;

constexpr char kCheckpoints[] = "checkpoints";  // beside the model, unless the spec says otherwise

// The volume of the model in a pod; null when it has none.
const Json& ModelVolumeOf(const Json& pod) {
  static const Json kNone;
  const Json& volumes = kube::At(pod, {"spec", "volumes"});
  if (!volumes.is_array()) return kNone;
  for (const Json& volume : volumes) {
    if (StringAt(volume, {"name"}) == controller::kModelVolume) return volume;
  }
  return kNone;
}

}  // namespace

StatusOr<std::string> ModelClaim(const api::TrainingJob& job, const std::vector<Json>& pods,
                                 const std::string& stated) {
  if (!stated.empty()) return stated;
  if (!job.spec.model.claim.empty()) return job.spec.model.claim;
  bool has_volume = false;
  for (const Json& pod : pods) {
    const Json& volume = ModelVolumeOf(pod);
    const std::string claim(StringAt(volume, {"persistentVolumeClaim", "claimName"}));
    if (!claim.empty()) return claim;
    has_volume = has_volume || volume.is_object();
  }
  const std::string set = "set spec.model.claim to a PersistentVolumeClaim before the job trains";
  if (has_volume) {
    return Error(StatusCode::kFailedPrecondition,
                 "job " + job.name + " keeps its model in a volume of each pod, which goes with the pod, and which " +
                     "nothing else can read: " + set);
  }
  return Error(StatusCode::kNotFound, "job " + job.name +
                                          " names no claim for its model, and has no pods that show which one the "
                                          "operator gave them: name it with --claim; where there is none, " +
                                          set);
}

ModelPlace PlaceOfModel(const api::TrainingJob& job) {
  ModelPlace place{.directory = std::string(contract::kModelDirectoryPath) + "/" + job.name};
  const std::string& stated = job.spec.checkpoint.directory;
  if (stated.empty()) {
    place.checkpoints = kCheckpoints;
    return place;
  }
  std::string below = std::filesystem::path(stated).lexically_normal().lexically_relative(place.directory).string();
  if (below.ends_with('/')) below.pop_back();
  if (below.empty() || below == ".." || below.starts_with("../")) {
    place.elsewhere = stated;
  } else if (below != ".") {  // else they are all of its files
    place.checkpoints = below;
  }
  return place;
}

bool IsOfCheckpoints(const ModelPlace& place, const std::string& path) {
  return !place.checkpoints.empty() && path.starts_with(place.checkpoints + "/");
}

}  // namespace attune::cli
