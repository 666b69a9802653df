#include "operator/local/nodes/container_log.h"

#include "operator/local/nodes/pod_logs.h"
#include "operator/local/pods/pod_plan.h"

namespace attune::local {
namespace {

using kube::Json;
using kube::ObjectKey;

const Json* FindContainerStatus(const Json& pod, std::string_view name) {
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Json& status : kube::At(pod, {"status", list})) {
      if (kube::StringAt(status, {"name"}) == name) return &status;
    }
  }
  return nullptr;
}

}  // namespace

Status ReadContainerLog(MemoryApi& api, const std::filesystem::path& pod_directory, const Json& pod,
                        const kube::LogOptions& log, const std::function<bool(std::string_view)>& on_text,
                        MonotonicTime deadline, const std::function<bool()>& stopping, const TimeSource& time) {
  const ObjectKey key = kube::KeyOf(pod);
  std::string container = log.container;
  if (container.empty()) container = kube::StringAt(kube::At(pod, {"spec", "containers"}).at(0), {"name"});
  const Json* status = FindContainerStatus(pod, container);
  if (status == nullptr) {
    for (const ContainerSpec& spec : ContainersOf(pod)) {
      if (spec.name == container)
        return Error(StatusCode::kInvalidArgument,
                     "container \"" + container + "\" in pod \"" + key.name + "\" is waiting to start");
    }
    return Error(StatusCode::kInvalidArgument, "container " + container + " is not valid for pod " + key.name);
  }
  const int64_t restarts = kube::IntegerAt(*status, {"restartCount"});
  // A container that waits for its next run shows the last one.
  const bool waiting = kube::At(*status, {"state", "waiting"}).is_object();
  const int64_t run = restarts - (log.previous || (waiting && restarts > 0) ? 1 : 0);
  if (run < 0)
    return Error(StatusCode::kInvalidArgument,
                 "previous terminated container \"" + container + "\" in pod \"" + key.name + "\" not found");
  const std::filesystem::path file = LogFile(pod_directory, container, run);
  if (!log.follow) {
    const StatusOr<std::string> text = ReadLogTail(file, log.tail_lines, log.bytes_max);
    if (!text.ok())
      return Error(StatusCode::kInvalidArgument,
                   "container \"" + container + "\" in pod \"" + key.name + "\" is waiting to start");
    if (!text->empty()) on_text(*text);
    return OkStatus();
  }
  const auto ended = [&, uid = std::string(kube::Uid(pod))] {
    const StatusOr<Json> now = api.Get(kube::kPods, key);
    if (stopping() || !now.ok() || kube::Uid(*now) != uid) return true;
    const Json* state = FindContainerStatus(*now, container);
    return state == nullptr || kube::IntegerAt(*state, {"restartCount"}) != run ||
           kube::At(*state, {"state", "terminated"}).is_object();
  };
  return FollowLog(file, log.tail_lines, on_text, ended, deadline, time);
}

}  // namespace attune::local
