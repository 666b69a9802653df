#include "cli/runs/jobs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <tuple>

#include "cli/runs/run_record.h"
#include "operator/api/format.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/objects/tuning_record.h"
#include "operator/controller/observe/names.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

using kube::At;
using kube::IntegerAt;
using kube::Json;
using kube::StringAt;

std::string FirstText(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) {
    if (!text.empty()) return std::string(text);
  }
  return "";
}

JobEvent FromJson(const Json& event) {
  JobEvent result;
  result.time =
      FirstText({StringAt(event, {"series", "lastObservedTime"}), StringAt(event, {"deprecatedLastTimestamp"}),
                 StringAt(event, {"eventTime"}), StringAt(event, {"metadata", "creationTimestamp"})});
  result.reason = StringAt(event, {"reason"});
  result.note = StringAt(event, {"note"});
  result.object = StringAt(event, {"regarding", "name"});
  result.warning = StringAt(event, {"type"}) == "Warning";
  result.count = std::max<int64_t>({1, IntegerAt(event, {"series", "count"}), IntegerAt(event, {"deprecatedCount"})});
  return result;
}

}  // namespace

StatusOr<Json> GetJob(kube::Api& api, const kube::ObjectKey& key) {
  auto job = api.Get(kube::kTrainingJobs, key);
  if (job.ok() || job.status().code() != StatusCode::kNotFound) return job;
  std::string known;
  if (const auto list = api.List(kube::kTrainingJobs, {.name_space = key.name_space}); list.ok()) {
    for (const Json& each : list->items) known += (known.empty() ? "" : ", ") + std::string(kube::Name(each));
  }
  return Error(StatusCode::kNotFound, "there is no job " + key.name + " in namespace " + key.name_space +
                                          (known.empty() ? "; it holds none" : "; there are: " + known));
}

StatusOr<std::string> GetTuningState(kube::Api& api, const api::TrainingJob& job) {
  const std::string of_status = job.status.tuning ? job.status.tuning->state : "";
  const kube::ObjectKey key{job.name_space, controller::TuningRecordName(job.name)};
  const auto record = api.Get(kube::kConfigMaps, key);
  if (record.status().code() == StatusCode::kNotFound) return of_status;
  if (!record.ok())
    return Annotate(record.status(), "reading ConfigMap " + key.ToString() + ", which holds what was tried");
  return controller::IsOwnedBy(*record, job) ? controller::ReadTuningRecord(*record).state : of_status;
}

bool HasEnded(const api::TrainingJobStatus& status) {
  if (api::IsTrue(status, api::kSucceeded) || api::IsTrue(status, api::kFailed)) return true;
  for (const RunOutcome outcome : {RunOutcome::kInterrupted, RunOutcome::kStopped, RunOutcome::kLost}) {
    if (status.phase == ToString(outcome)) return true;
  }
  return false;
}

StatusOr<std::vector<JobEvent>> GetEvents(kube::Api& api, const kube::ObjectKey& key, bool pods) {
  ASSIGN_OR_RETURN(const kube::ListResult list, api.List(kube::kEvents, {.name_space = key.name_space}));
  const auto concerns = [&](const Json& event) {
    const auto name = StringAt(event, {"regarding", "name"});
    if (name == key.name && StringAt(event, {"regarding", "kind"}) == kube::kTrainingJobs.kind) return true;
    return pods && StringAt(event, {"regarding", "kind"}) == "Pod" &&
           (name.starts_with(key.name + "-server-") || name.starts_with(key.name + "-worker-"));
  };
  std::vector<JobEvent> events;
  for (const Json& event : list.items) {
    if (concerns(event)) events.push_back(FromJson(event));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const JobEvent& a, const JobEvent& b) { return ParseTime(a.time) < ParseTime(b.time); });
  return events;
}

StatusOr<std::vector<Json>> GetPods(kube::Api& api, const kube::ObjectKey& key) {
  kube::ListOptions options;
  options.name_space = key.name_space;
  options.label_selector = std::string(contract::kLabelJob) + "=" + key.name;
  ASSIGN_OR_RETURN(kube::ListResult list, api.List(kube::kPods, options));
  const auto order = [](const Json& pod) {
    const std::string index(kube::Label(pod, contract::kLabelIndex));
    return std::make_tuple(kube::Label(pod, contract::kLabelRole), std::strtoull(index.c_str(), nullptr, 10),
                           kube::Name(pod));
  };
  std::sort(list.items.begin(), list.items.end(), [&](const Json& a, const Json& b) { return order(a) < order(b); });
  return std::move(list.items);
}

bool IsReadyPod(const Json& pod) {
  const Json& conditions = At(pod, {"status", "conditions"});
  if (!conditions.is_array()) return false;
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return StringAt(condition, {"type"}) == "Ready" && StringAt(condition, {"status"}) == "True";
  });
}

std::string PodState(const Json& pod) {
  std::string phase(StringAt(pod, {"status", "phase"}));
  const Json& containers = At(pod, {"status", "containerStatuses"});
  std::string detail;
  for (const Json& container : containers.is_array() ? containers : Json::array()) {
    const auto waiting = StringAt(container, {"state", "waiting", "reason"});
    if (!waiting.empty() && waiting != "ContainerCreating" && waiting != "PodInitializing") detail = waiting;
    const int64_t code = IntegerAt(container, {"state", "terminated", "exitCode"});
    if (code != 0) detail = "exit code " + std::to_string(code);
  }
  if (phase == "Failed" || phase == "Pending") return detail.empty() ? phase : phase + ": " + detail;
  if (phase == "Succeeded") return phase;
  if (kube::IsBeingDeleted(pod) || !kube::Annotation(pod, contract::kAnnotationDrainDeadline).empty() ||
      !kube::Annotation(pod, controller::kAnnotationDraining).empty()) {
    return "Leaving";
  }
  if (phase == "Running" && IsReadyPod(pod)) return "Ready";
  return phase.empty() ? "Pending" : phase;
}

double ParseTime(const std::string& time) {
  std::tm parts{};
  const char* rest = strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return 0;
  double fraction = 0;
  if (*rest == '.') {
    char* end = nullptr;
    fraction = std::strtod(rest, &end);
    rest = end;
  }
  double offset = 0;
  int hours = 0, minutes = 0;
  if ((*rest == '+' || *rest == '-') && std::sscanf(rest + 1, "%2d:%2d", &hours, &minutes) == 2) {
    offset = (*rest == '+' ? 1 : -1) * (hours * 3600.0 + minutes * 60.0);
  }
  return static_cast<double>(timegm(&parts)) + fraction - offset;
}

double ToUnixSeconds(WallTime time) { return Seconds(time.time_since_epoch()); }

std::string TimeText(double unix_seconds) {
  const auto milliseconds = static_cast<int64_t>(std::llround(unix_seconds * 1000));
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char date[32], text[48];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%03dZ", date, static_cast<int>(milliseconds % 1000));
  return text;
}

std::string AgeText(const std::string& since, double now) {
  const double from = ParseTime(since);
  if (from == 0) return "";
  return api::FormatAge(now - from);
}

}  // namespace attune::cli
