#include "operator/controller/status/degraded.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "operator/controller/status/status.h"

namespace attune::controller {
namespace {

struct Cause {
  std::string reason, message;
};

// Of pods that are on their way, by a start or a change, as a rule for seconds.
constexpr std::array kPassing = {kReasonStarting, kReasonLeaving, kReasonWaitingForServers};

void AddMissing(const api::TrainingJobStatus& status, std::vector<Cause>& causes) {
  const api::Condition* ready = api::FindCondition(status, api::kReady);
  if (ready == nullptr || ready->status == "True" || std::ranges::find(kPassing, ready->reason) != kPassing.end())
    return;
  causes.push_back({ready->reason, ready->message});
}

// Rows of a lost server come from their copies, or are waited for.
void AddLostServer(const api::TrainingJobStatus& status, std::vector<Cause>& causes) {
  const api::Condition* changes = api::FindCondition(status, api::kReconfiguring);
  if (changes == nullptr || changes->status != "True") return;
  if (changes->reason == kReasonServerReplaced || changes->reason == kReasonCoordinatorSilent)
    causes.push_back({changes->reason, changes->message});
}

void AddStandstill(const api::TrainingJobStatus& status, std::vector<Cause>& causes) {
  const api::Condition* progressing = api::FindCondition(status, api::kProgressing);
  if (progressing != nullptr && progressing->status == "False")
    causes.push_back({progressing->reason, progressing->message});
}

void AddBlocked(const api::TrainingJobStatus& status, std::vector<Cause>& causes) {
  const api::Condition* blocked = api::FindCondition(status, api::kBlocked);
  if (blocked != nullptr && blocked->status == "True") causes.push_back({blocked->reason, blocked->message});
}

}  // namespace

void SetDegraded(const Observed& observed, api::TrainingJobStatus& status, Now now) {
  if (api::FindCondition(status, kTrainingStarted) == nullptr) return;
  std::vector<Cause> causes;
  AddLostServer(status, causes);
  AddMissing(status, causes);
  AddStandstill(status, causes);
  AddBlocked(status, causes);
  const int64_t generation = observed.job.generation;
  if (!causes.empty()) {
    std::string message;
    for (const Cause& cause : causes) message += (message.empty() ? "" : "; ") + cause.message;
    return SetCondition(status, kDegraded, true, causes.front().reason, message, generation, now.wall);
  }
  if (!api::IsTrue(status, api::kMetricsAvailable)) {
    return SetUnknown(status, kDegraded, kReasonNoReports, "all pods run, and no process reports", generation,
                      now.wall);
  }
  SetCondition(status, kDegraded, false, kReasonFullStrength, "all servers and workers take part", generation,
               now.wall);
}

}  // namespace attune::controller
