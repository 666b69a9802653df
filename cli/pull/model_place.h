// Where a job keeps its model, and which of the files there are checkpoints. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "operator/api/training_job.h"
#include "operator/kube/object.h"

namespace attune::cli {

// The claim of its model: `stated` by the user, else as the spec or its pods say. FailedPrecondition: the model lies in
// a volume that goes with each pod. NotFound: neither says.
StatusOr<std::string> ModelClaim(const api::TrainingJob& job, const std::vector<kube::Json>& pods,
                                 const std::string& stated);

struct ModelPlace {
  std::string directory;    // as its pods see it
  std::string checkpoints;  // their directory below that one; "": they are not there
  std::string elsewhere;    // where they are instead, as pods see it; "": not elsewhere
};
ModelPlace PlaceOfModel(const api::TrainingJob& job);
// Of a path below the model's directory.
bool IsOfCheckpoints(const ModelPlace& place, const std::string& path);

}  // namespace attune::cli
