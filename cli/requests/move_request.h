// Asking for another machine for a pod, by the annotation that the operator obeys, and waiting for what comes of it.
#pragma once

#include <string>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

struct RequestedMove {
  std::string pod;  // "worker-1", or with the job's name before it
  std::string to;   // a machine; "": any other
};

// OK when it can be asked for now, else why not. Whether it can be done is the operator's answer.
Status CheckMove(const api::TrainingJob& job, const RequestedMove& wanted);
// "worker-1 to=node-2 id=1732622400000-4711".
std::string MoveText(const RequestedMove& wanted, const std::string& id);

// The operator's word when it has ended: "word2vec-worker-1 moved from node-1 to ...". FailedPrecondition when it was
// refused or given up.
StatusOr<std::string> MovePod(kube::Api& api, const kube::ObjectKey& key, const RequestedMove& wanted,
                              Duration timeout);

}  // namespace attune::cli
