#include "operator/controller/plan/failure.h"

#include <algorithm>

#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {

std::vector<const ObservedPod*> PodsWhoseLogIsNeeded(const Observed& observed) {
  std::vector<const ObservedPod*> pods;
  if (api::IsTrue(observed.job.status, api::kFailed) || api::IsTrue(observed.job.status, api::kSucceeded)) return pods;
  for (const ObservedPod& pod : observed.pods) {
    const bool ours = pod.index >= 0 && pod.job_uid == observed.job.uid && !IsBeingDeleted(pod);
    // An end with 0 may turn out to be none of the job's.
    const bool ended_badly = HasEnded(pod);
    // The machine of one that was disrupted may be gone, and its log says nothing about why.
    if (ours && ended_badly && !pod.failure_number && !WasDisrupted(pod)) pods.push_back(&pod);
  }
  return pods;
}

namespace {

// A signal's name, and where it comes from when that is not the program itself.
std::string SignalText(int number) {
  switch (number) {
    case 4:
      return "4 (SIGILL)";
    case 6:
      return "6 (SIGABRT)";
    case 7:
      return "7 (SIGBUS)";
    case 8:
      return "8 (SIGFPE)";
    case 9:
      return "9 (SIGKILL), which no program sends itself: it came from outside, or from the kernel when memory was "
             "short";
    case 11:
      return "11 (SIGSEGV)";
    case 15:
      return "15 (SIGTERM), which asks a program to end: it came from outside";
    default:
      return std::to_string(number);
  }
}

// What to do about a container that ran out of memory.
std::string AdviceOnMemory(const api::TrainingJob& job, const ObservedPod& pod) {
  const api::ResourceTarget& memory = RoleOf(job, pod.role).resources.memory;
  const std::optional<int64_t> limit = MemoryLimitOf(pod);
  if (!memory.max || !limit) return "raise the memory limit of its container in the template";
  const std::string bound = std::string("spec.") + ToString(pod.role) + "s.resources.memory.max";
  const std::string most = MemoryText(*memory.max);
  if (*limit >= *memory.max) return "it had all that " + bound + " allows (" + most + "): raise that";
  return "its limit was " + MemoryText(*limit) + ", and " + bound + " allows " + most;
}

}  // namespace

std::string DescribeEnd(const Observed& observed, const ObservedPod& pod) {
  constexpr int kSignalBase = 128;  // a shell's and container runtime's code for a signal
  constexpr int kSignalMax = 64;
  const RoleContainer& container = pod.container;
  if (container.reason == "OOMKilled") {
    return "ran out of memory (OOMKilled); " + AdviceOnMemory(observed.job, pod);
  }
  if (container.reason == "StartError" || container.reason == "ContainerCannotRun")  // nothing ran that could exit
    return "could not be started: " + container.message;
  if (container.state != RoleContainer::State::kTerminated) {
    if (pod.phase == PodPhase::kFailed) {
      const std::string reason = pod.reason.empty() ? "the pod failed" : "the pod failed as a whole: " + pod.reason;
      return "was ended: " + reason + (pod.message.empty() ? "" : " (" + pod.message + ")");
    }
    return "ended";
  }
  std::string text;
  if (container.exit_code > kSignalBase && container.exit_code <= kSignalBase + kSignalMax) {
    text = "was killed by signal " + SignalText(container.exit_code - kSignalBase);
  } else {
    text = "exited with code " + std::to_string(container.exit_code);
  }
  const bool specific = !container.reason.empty() && container.reason != "Error" && container.reason != "Completed";
  if (specific) text += " (" + container.reason + ")";
  if (!container.message.empty()) text += ": " + container.message;
  if (!pod.reason.empty()) text += "; pod: " + pod.reason + (pod.message.empty() ? "" : ": " + pod.message);
  return text;
}

std::string LogTail(const Observed& observed, const ObservedPod& pod) {
  const auto found = observed.log_tails.find(pod.uid);
  if (found == observed.log_tails.end() || found->second.empty()) return "";
  return " Last lines of its log:\n" + found->second;
}

int32_t FailuresInARow(const Observed& observed, const ObservedPod& pod) {
  // A program that dies at its first steps, again and again, makes none.
  constexpr Duration kTrainedFor = std::chrono::seconds(10);
  const auto& container = pod.container;
  const bool ran_long =
      container.started_at && container.finished_at && *container.finished_at - *container.started_at >= kTrainedFor;
  const bool trained = std::ranges::any_of(observed.sample.pods, [&](const telemetry::PodSample& sample) {
    const bool same = sample.pod == pod.name && (sample.pod_uid.empty() || sample.pod_uid == pod.uid);
    return same && (sample.window.worker().clock() > 0 || sample.window.server().rows() > 0);
  });
  return ran_long && trained ? 1 : pod.failures_in_a_row + 1;
}

Duration RestartDelay(const PlanOptions& options, int32_t failures_in_a_row) {
  Duration delay = options.restart_backoff_first;
  for (int32_t n = 1; n < failures_in_a_row && delay < options.restart_backoff_max; ++n) delay *= 2;
  return std::min(delay, options.restart_backoff_max);
}

}  // namespace attune::controller
