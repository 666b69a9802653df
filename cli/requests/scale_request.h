// "workers=3 servers=2 worker-cpu=2 server-memory=2Gi" and whether it may be. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/api/training_job.h"

namespace attune::cli {

// What one pod of a role is to have.
struct SizeRequest {
  std::optional<int64_t> cpu = {};     // millicores
  std::optional<int64_t> memory = {};  // bytes

  bool any() const { return cpu || memory; }
};

struct ScaleRequest {
  std::optional<int32_t> workers, servers;
  SizeRequest worker = {}, server = {};

  bool changes_sizes() const { return worker.any() || server.any(); }
};

// InvalidArgument for anything else than workers=N, servers=N and worker- or server-cpu and -memory=AMOUNT, each once.
StatusOr<ScaleRequest> ParseScaleChanges(const std::vector<std::string>& changes);
// InvalidArgument outside the job's bounds; FailedPrecondition when it has ended, or when its servers cannot join and
// leave (yet).
Status CheckScale(const api::TrainingJob& job, const ScaleRequest& request);

// A merge patch of the job.
kube::Json ScalePatch(const ScaleRequest& request);
// "a: worker cpu 1 -> 2", a line for each size; before: the target, or what the template states.
std::vector<std::string> SizeChanges(const api::TrainingJob& job, const ScaleRequest& request);

}  // namespace attune::cli
