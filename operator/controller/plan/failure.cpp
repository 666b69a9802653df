#include "operator/controller/plan/failure.h"

#include <algorithm>

#include "operator/controller/objects/pod_resources.h"
#include "operator/controller/plan/evidence.h"

namespace attune::controller {
namespace {

constexpr int kSignalBase = 128;  // a shell's and container runtime's code for a signal
constexpr int kSignalMax = 64;

}  // namespace

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

namespace {

bool Matches(const api::NumberPattern& pattern, int32_t number) {
  return (std::ranges::find(pattern.values, number) != pattern.values.end()) == pattern.in;
}

bool Matches(const api::FailureRule& rule, const ObservedPod& pod) {
  const auto role = pod.role == RoleName::kServer ? api::FailureRole::kServer : api::FailureRole::kWorker;
  if (!rule.roles.empty() && std::ranges::find(rule.roles, role) == rule.roles.end()) return false;
  const bool has_code = IsProvenEnded(pod) && pod.container.exit_code != 0;
  if (rule.exit_codes) return has_code && Matches(*rule.exit_codes, pod.container.exit_code);
  if (rule.signals) {
    const int32_t signal = pod.container.exit_code - kSignalBase;
    return has_code && signal > 0 && signal <= kSignalMax && Matches(*rule.signals, signal);
  }
  return std::ranges::any_of(rule.pod_conditions, [&](const api::PodConditionPattern& wanted) {
    const auto found = pod.conditions.find(wanted.type);
    return found != pod.conditions.end() && found->second == wanted.status;
  });
}

}  // namespace

std::string FailureMeaning::rule_text() const {
  return rule ? "rule " + std::to_string(*rule + 1) + " of spec.runPolicy.podFailurePolicy" : "no rule";
}

FailureMeaning MeaningOf(const Observed& observed, const ObservedPod& pod) {
  const std::vector<api::FailureRule>& rules = observed.job.spec.run_policy.failure_rules;
  const auto rule = std::ranges::find_if(rules, [&](const api::FailureRule& each) { return Matches(each, pod); });
  if (rule != rules.end()) return {rule->action, static_cast<size_t>(rule - rules.begin())};
  return {WasDisrupted(pod) ? api::FailureAction::kIgnore : api::FailureAction::kRestart, std::nullopt};
}

bool HasEndedFor(const ObservedPod& pod, Duration time, Now now) {
  return pod.container.finished_at && now.wall - *pod.container.finished_at >= time;
}

Draft::Ref MarkUncounted(const Observed& observed, const ObservedPod& pod, Draft& draft) {
  return draft.Mark(
      pod,
      {{kAnnotationFailureNumber, "0"}, {kAnnotationFailuresInARow, std::to_string(FailuresInARow(observed, pod))}},
      "the job's failure policy ignores its end");
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
