// Asking what happens to a row of a running job, by the annotation that the operator obeys, and waiting for the answer.
#pragma once

#include "base/status.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

// The request gets an id here. Waits as long as the row is looked at, and some seconds more for the answer. With
// Interrupts installed an interrupt ends the wait.
StatusOr<api::RowTraceStatus> TraceRow(kube::Api& api, const kube::ObjectKey& key, api::RowTraceRequest request);

}  // namespace attune::cli
