#include "operator/controller/status/reconfiguring.h"

#include <utility>
#include <vector>

#include "operator/controller/observe/text.h"

namespace attune::controller {
namespace {

struct Reconfiguration {
  bool under_way = false;
  std::string reason;
  std::string message;
};

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::optional<Reconfiguration> ServerReconfiguration(const Observed& observed, const ServersView& servers,
                                                     const Progression& progression) {
  const int32_t asked = observed.job.spec.servers.replicas;
  const auto& abilities = observed.job.status.abilities;
  if (servers.existing > 0 && asked != servers.wanted && servers.formed && !abilities) {
    return Reconfiguration{false, kReasonCoordinatorSilent,
                           "spec.servers.replicas is " + std::to_string(asked) + ", but the job runs with " +
                               Counted(servers.wanted, "server") +
                               ", and its coordinator has not said yet whether servers can join and leave"};
  }
  if (servers.existing > 0 && asked != servers.wanted) {
    const std::string why = servers.begun ? "this number cannot change during a run of these servers"
                                          : "this number cannot change before all servers run";
    return Reconfiguration{false, kReasonServersFixed,
                           "spec.servers.replicas is " + std::to_string(asked) + ", but the job runs with " +
                               Counted(servers.wanted, "server") + ", and " + why + "; it continues with " +
                               std::to_string(servers.wanted) + ". Set it back, or delete and create the job again"};
  }
  const ServerChanges& changes = progression.servers;
  if (!changes.refused.empty()) {
    return Reconfiguration{false, kReasonScalingRefused,
                           "the job cannot have " + Counted(asked, "server") + " now: " + changes.refused};
  }
  std::vector<std::string> parts;
  if (changes.replaced > 0) parts.push_back(Counted(changes.replaced, "lost server") + " being replaced");
  if (progression.coordinator.moving) parts.push_back(progression.coordinator.pod + " takes over the coordinator");
  if (changes.joining > 0) parts.push_back(Counted(changes.joining, "server") + " joining");
  if (changes.leaving > 0) parts.push_back(Counted(changes.leaving, "server") + " leaving, rows move away first");
  if (parts.empty()) return std::nullopt;
  const char* reason = changes.replaced > 0             ? kReasonServerReplaced
                       : progression.coordinator.moving ? kReasonCoordinatorMoving
                       : changes.joining > 0            ? kReasonServersJoining
                                                        : kReasonServersLeaving;
  return Reconfiguration{true, reason, Joined(parts)};
}

std::optional<Reconfiguration> OtherReconfiguration(const WorkersView& workers, const Progression& progression) {
  const RequestsView& requests = progression.requests;
  if (!requests.synchronization_refused.empty()) {
    return Reconfiguration{false, kReasonSynchronizationRefused, requests.synchronization_refused};
  }
  if (!requests.row_management_refused.empty()) {
    return Reconfiguration{false, kReasonRowManagementRefused, requests.row_management_refused};
  }
  if (requests.switching_to) {
    return Reconfiguration{true, kReasonSwitching,
                           "workers switch to " + Describe(*requests.switching_to) + " at a step none has begun"};
  }
  if (!requests.threads_refused.empty()) return Reconfiguration{false, kReasonThreadsRefused, requests.threads_refused};
  if (progression.move && progression.move->state == api::kMoving) {
    return Reconfiguration{true, kReasonMoving, progression.move->message};
  }
  if (workers.leaving.empty()) return std::nullopt;
  return Reconfiguration{true, kReasonScaling,
                         std::to_string(workers.leaving.size()) +
                             (workers.leaving.size() == 1 ? " worker is" : " workers are") + " leaving the job"};
}

std::optional<Reconfiguration> ResizeReconfiguration(const ResizesView& resizes) {
  if (resizes.reason.empty()) return std::nullopt;
  return Reconfiguration{resizes.under_way, resizes.reason, resizes.message};
}

}  // namespace

void SetReconfiguring(const Observed& observed, const ServersView& servers, const WorkersView& workers,
                      const Progression& progression, api::TrainingJobStatus& status, Now now) {
  std::optional<Reconfiguration> found = ServerReconfiguration(observed, servers, progression);
  if (!found) found = OtherReconfiguration(workers, progression);
  // What is in progress comes before what is not.
  if (auto resize = ResizeReconfiguration(progression.resizes); resize && (!found || resize->under_way)) {
    if (!found || !found->under_way) found = std::move(resize);
  }
  if (!found && api::FindCondition(status, api::kReconfiguring) == nullptr) return;
  if (!found) found = Reconfiguration{false, kReasonSettled, "the job runs as the spec says"};
  SetCondition(status, api::kReconfiguring, found->under_way, found->reason, found->message, observed.job.generation,
               now.wall);
}

}  // namespace attune::controller
