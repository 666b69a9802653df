// Asking for the pods of a job to be spread or packed. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// Absent: as it is.
struct PlaceRequest {
  std::optional<api::ServerPlacement> servers;
  std::optional<api::WorkerPlacement> workers;
};

// FailedPrecondition when the job has ended.
Status CheckPlacement(const api::TrainingJob& job);
// Merge patch of the job.
kube::Json PlacementPatch(const PlaceRequest& request);
// "servers Any -> Pack, workers stay Pack".
std::string PlacementChange(const api::Placement& before, const PlaceRequest& request);

}  // namespace attune::cli
