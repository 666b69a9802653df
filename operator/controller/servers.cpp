#include "operator/controller/servers.h"

#include <algorithm>

#include "operator/controller/failure.h"
#include "operator/controller/pods.h"
#include "operator/controller/text.h"

namespace attune::controller {
namespace {

// The number the job was started with, as its pods tell; the spec's while there are none.
int32_t ServerCount(const Observed& observed) {
  for (RoleName role : {RoleName::kServer, RoleName::kWorker}) {
    for (const ObservedPod& pod : observed.pods) {
      if (pod.role == role && pod.index >= 0 && pod.job_uid == observed.job.uid && pod.servers.value_or(0) > 0) {
        return *pod.servers;
      }
    }
  }
  return observed.job.spec.servers.replicas;
}

bool EndedTooEarly(const ObservedPod& pod, const PlanOptions& options, Now now) {
  if (!HasSucceeded(pod)) return false;
  return !pod.container.finished_at || now.wall - *pod.container.finished_at >= options.servers_ended_grace;
}

}  // namespace

ServersView ViewServers(const Observed& observed) {
  ServersView view;
  view.count = ServerCount(observed);
  view.by_index.assign(static_cast<size_t>(std::max(view.count, 0)), nullptr);
  for (const ObservedPod& pod : observed.pods) {
    if (pod.role != RoleName::kServer || pod.job_uid != observed.job.uid) continue;
    if (pod.index < 0 || pod.index >= view.count) continue;
    view.by_index[static_cast<size_t>(pod.index)] = &pod;
    if (IsBeingDeleted(pod)) continue;
    ++view.existing;
    if (HasStarted(pod)) ++view.started;
    if (pod.ready) ++view.ready;
    if (HasSucceeded(pod)) ++view.finished;
  }
  view.formed = !observed.job.status.coordinator.empty();
  return view;
}

std::optional<Verdict> JudgeServers(const Observed& observed, const ServersView& servers, const PlanOptions& options,
                                    Now now) {
  const auto ended_long_ago = [&](const ObservedPod* pod) {
    return pod != nullptr && EndedTooEarly(*pod, options, now);
  };
  if (servers.finished == servers.count && std::ranges::all_of(servers.by_index, ended_long_ago)) {
    return Verdict{true, kReasonTrainingFinished,
                   "all servers ended after the goal was reached; workers that came too late are not waited for"};
  }
  for (size_t i = 0; i < servers.by_index.size(); ++i) {
    const ObservedPod* pod = servers.by_index[i];
    const std::string name = PodName(observed.job.name, RoleName::kServer, static_cast<int32_t>(i));
    if (pod != nullptr && !IsBeingDeleted(*pod) && (HasFailed(*pod) || EndedTooEarly(*pod, options, now))) {
      return Verdict{false, kReasonServerFailed,
                     name + " " + DescribeEnd(*pod) + " before the workers had finished." + LogTail(observed, *pod)};
    }
    if (!servers.formed) continue;
    if (pod == nullptr) {
      return Verdict{false, kReasonServerLost,
                     name +
                         " is gone: its rows were kept nowhere else, so training cannot go on. Delete and create the "
                         "job again to start over."};
    }
    if (IsBeingDeleted(*pod)) {
      const std::string where = pod->node.empty() ? "" : " (on node " + pod->node + ")";
      return Verdict{false, kReasonServerLost,
                     name + where +
                         " is being deleted from outside: its rows were kept nowhere else, so training cannot "
                         "go on. Delete and create the job again to start over."};
    }
  }
  return std::nullopt;
}

void PlanServers(const Observed& observed, const ServersView& servers, const PlanOptions& options, Draft& draft) {
  if (servers.formed) return;  // whatever is missing now is judged, not repaired
  int32_t created = 0;
  for (size_t i = 0; i < servers.by_index.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    if (const ObservedPod* pod = servers.by_index[i]; pod != nullptr) {
      if (IsBeingDeleted(*pod)) draft.Release(*pod, "deleted before the job had formed; a new one follows");
      continue;
    }
    const std::string name = PodName(observed.job.name, RoleName::kServer, index);
    const bool name_in_use = std::any_of(observed.pods.begin(), observed.pods.end(),
                                         [&](const ObservedPod& pod) { return pod.name == name; });
    if (name_in_use) continue;  // of an earlier job of this name; its end wakes us
    draft.Create(CreatePod{BuildPod(observed.job, RoleName::kServer, index, servers.count, options),
                           "the job has " + Counted(servers.count, "server")});
    ++created;
  }
  if (created > 0) {
    draft.Normal(kEventServersCreated, "CreateServers", "Created " + Counted(created, "server pod"));
  }
}

}  // namespace attune::controller
