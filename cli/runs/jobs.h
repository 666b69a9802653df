// What several commands read about jobs: the job itself, its pods and its events.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/kube/api.h"

namespace attune::cli {

// NotFound names the jobs there are.
StatusOr<kube::Json> GetJob(kube::Api& api, const kube::ObjectKey& key);

// What the tuner keeps of the job (operator/controller/objects/tuning_record.h), from its ConfigMap, or from the status
// where an operator of an earlier version left it; "" when there is nothing.
StatusOr<std::string> GetTuningState(kube::Api& api, const api::TrainingJob& job);

struct JobEvent {
  std::string time;  // RFC 3339, of the last occurrence
  std::string reason, note, object;
  bool warning = false;
  int64_t count = 1;
};
// Events about the job, and with `pods` about its pods as well; oldest first.
StatusOr<std::vector<JobEvent>> GetEvents(kube::Api& api, const kube::ObjectKey& key, bool pods);

// By itself, or from outside with the run that it belonged to.
bool HasEnded(const api::TrainingJobStatus& status);

// Pods of a job, ordered by role and index.
StatusOr<std::vector<kube::Json>> GetPods(kube::Api& api, const kube::ObjectKey& key);
bool IsReadyPod(const kube::Json& pod);
// "Running", "Succeeded", "Failed: exit code 1", "Leaving".
std::string PodState(const kube::Json& pod);

// Seconds since 1970 of an RFC 3339 time; 0 when it is none.
double ParseTime(const std::string& time);
double ToUnixSeconds(WallTime time);
// "2027-01-15T08:00:00.250Z", the form of every time that is printed for programs.
std::string TimeText(double unix_seconds);
// "12s", "3m20s", "2d4h"; "" for an unknown time.
std::string AgeText(const std::string& since, double now);

}  // namespace attune::cli
