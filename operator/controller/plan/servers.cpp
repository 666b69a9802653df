#include "operator/controller/plan/servers.h"

#include <algorithm>

#include "operator/controller/members/move.h"
#include "operator/controller/objects/pods.h"
#include "operator/controller/plan/directives.h"
#include "operator/controller/plan/evidence.h"
#include "operator/controller/plan/failure.h"
#include "proto/contract.h"

namespace attune::controller {
namespace {

// The number the job was started with, as its pods report, the coordinator's before all others: it waits for so many.
// The spec's while there are none.
int32_t FirstCount(const Observed& observed) {
  for (const ObservedPod& pod : observed.pods) {
    const bool waits = IsServerOf(observed, pod) && pod.index == 0 && pod.servers.value_or(0) > 0;
    if (waits && !HasFailed(pod) && !IsBeingDeleted(pod)) return *pod.servers;
  }
  for (RoleName role : {RoleName::kServer, RoleName::kWorker}) {
    for (const ObservedPod& pod : observed.pods) {
      if (pod.role == role && pod.index >= 0 && pod.job_uid == observed.job.uid && pod.servers.value_or(0) > 0) {
        return *pod.servers;
      }
    }
  }
  return observed.job.spec.servers.replicas;
}

// By its last word, the coordinator has no members yet: it names them as soon as all servers have joined.
bool WaitsForServers(const Observed& observed, int32_t count) {
  const auto& window = observed.sample.job;
  return window && window->server_states().empty() && static_cast<int32_t>(window->servers()) < count;
}

// What was said last is of the process that runs now: the word of one before it is of a job that has started over
// since.
bool CoordinatorHasSpoken(const Observed& observed) {
  const ObservedPod* host = CoordinatorPod(observed);
  const telemetry::PodSample* sample = host == nullptr ? nullptr : SampleOf(observed, *host);
  return sample != nullptr && IsAlive(*host) && sample->window.sequence() > 0;
}

// The job is on record as begun because its coordinator was not heard for long, and that one says that it waits for
// servers. It waits for as many as it was started with, whatever the spec says by now.
bool StillForms(const Observed& observed, int32_t count) {
  return observed.job.status.coordinator_term == 0 && CoordinatorHasSpoken(observed) &&
         WaitsForServers(observed, count);
}

// Said by the coordinator now or before, or seen in what servers and workers report. Workers are made once it is on
// record: where there is one, a job that looks as if it had not begun is old news.
bool HasBegun(const Observed& observed, int32_t count) {
  if (observed.job.status.begun) return true;
  if (observed.sample.job && CoordinatorHasSpoken(observed) && !WaitsForServers(observed, count)) return true;
  // The coordinator's last word may be older than what others say.
  const bool trained = std::ranges::any_of(observed.sample.pods, [](const telemetry::PodSample& sample) {
    return sample.window.server().rows() > 0 || sample.window.worker().clock() > 0;
  });
  return trained || std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) {
           return pod.role == RoleName::kWorker && pod.index >= 0 && pod.job_uid == observed.job.uid;
         });
}

// By what the coordinator's process has left behind, which needs no operator that hears it.
bool IsFinishedAsLeftBehind(const Observed& observed) {
  return std::ranges::any_of(
      observed.pods, [&](const ObservedPod& pod) { return IsServerOf(observed, pod) && pod.container.job_finished; });
}

// By the coordinator's report, to this operator or to a server, or by what it left behind.
bool IsGoalReached(const Observed& observed) {
  if (api::IsTrue(observed.job.status, kGoalReached) || IsFinishedAsLeftBehind(observed)) return true;
  if (observed.sample.job && observed.sample.job->goal_reached()) return true;
  return std::ranges::any_of(observed.sample.pods, [](const telemetry::PodSample& sample) {
    return sample.role == contract::kRoleServer && sample.window.server().goal_reached();
  });
}

// By the coordinator's report, on record or heard, or by what it left behind.
bool IsClosedByWord(const Observed& observed) {
  const v1::Closing* word = LastWordOnClosing(observed);
  return api::IsTrue(observed.job.status, kClosingDone) || (word != nullptr && word->done()) ||
         IsFinishedAsLeftBehind(observed);
}

// By what servers do: they end with 0 when the coordinator says that the job is finished, and not before. While the
// coordinator speaks its word counts: one that ends with 0 may have been released.
bool IsClosedByEnds(const Observed& observed, const ServersView& view, const PlanOptions& options, Now now) {
  if (view.count > 0 && view.finished == view.count) return true;
  const ObservedPod* host = CoordinatorPod(observed);
  const bool may_speak = host != nullptr && IsAlive(*host) && !IsUnheardFor(observed, *host, options.heard_within, now);
  if (!view.goal_reached || may_speak) return false;
  return std::ranges::any_of(view.by_index, [&](const ObservedPod* pod) {
    return pod != nullptr && HasSucceeded(*pod) && std::ranges::find(view.ended_early, pod) == view.ended_early.end();
  });
}

enum class End { kUnknown, kReleased, kTooEarly };

// Of a server that ended with 0, as reported by a coordinator that continues: one that is heard after that end.
End HowItEnded(const Observed& observed, const ObservedPod& pod, const PlanOptions& options, Now now) {
  const v1::JobWindow* window = HeardFromCoordinator(observed, options, now);
  if (window == nullptr || IsClosedByWord(observed) || CoordinatorPod(observed) == &pod) return End::kUnknown;
  if (IsGoalReached(observed) && !window->has_closing()) return End::kUnknown;  // it says nothing of the job's end
  if (!EndedLongAgo(pod, options.word_is_newer, now)) return End::kUnknown;
  const bool is_released = !IsMember(*window, pod.index) && !IsDeclaredLost(observed, pod);
  return is_released ? End::kReleased : End::kTooEarly;
}

// By what a coordinator that runs on has said last.
bool IsWithoutRows(const Observed& observed, const ObservedPod& pod) {
  const v1::JobWindow* window = CurrentWindow(observed);
  const ObservedPod* host = CoordinatorPod(observed);
  if (window == nullptr || host == nullptr || host == &pod || !IsAlive(*host)) return false;
  return !IsMember(*window, pod.index) && !IsDeclaredLost(observed, pod);
}

}  // namespace

bool EndedLongAgo(const ObservedPod& pod, Duration grace, Now now) {
  if (!HasSucceeded(pod)) return false;
  return !pod.container.finished_at || now.wall - *pod.container.finished_at >= grace;
}

bool ServersView::HasEndedBadly(const ObservedPod& pod) const {
  return HasFailed(pod) || (!begun && HasSucceeded(pod)) || std::ranges::find(ended_early, &pod) != ended_early.end();
}

bool ServersView::IsSurvivable(const ObservedPod& pod) const {
  return survivable || std::ranges::find(without_rows, &pod) != without_rows.end();
}

bool NameInUse(const Observed& observed, const std::string& name) {
  return std::ranges::any_of(observed.pods, [&](const ObservedPod& pod) { return pod.name == name; });
}

api::Abilities ToStatus(const v1::Abilities& can) {
  return {.elastic_servers = can.elastic_servers(),
          .server_recovery = can.server_recovery(),
          .coordinator_failover = can.coordinator_failover(),
          .synchronization_modes = can.synchronization_modes(),
          .row_management = can.row_management(),
          .checkpoints = can.checkpoints()};
}

std::optional<api::Abilities> AbilitiesOf(const Observed& observed) {
  if (observed.job.status.abilities) return observed.job.status.abilities;
  const v1::JobWindow* window = CurrentWindow(observed);
  if (window == nullptr || !window->has_abilities()) return std::nullopt;
  return ToStatus(window->abilities());
}

ServersView ViewServers(const Observed& observed, const PlanOptions& options, Now now) {
  ServersView view;
  const auto abilities = AbilitiesOf(observed);
  view.formed = !observed.job.status.coordinator.empty();
  const auto& checkpoint = observed.job.status.checkpoint;
  const int32_t first = FirstCount(observed);
  view.begun = view.formed && HasBegun(observed, first);
  view.elastic = view.begun && abilities && abilities->elastic_servers && !StillForms(observed, first);
  view.wanted = std::max(view.elastic ? observed.job.spec.servers.replicas : first, 0);
  view.count = view.wanted + (view.elastic && NeedsOneMoreServer(observed) ? 1 : 0);
  view.goal_reached = IsGoalReached(observed);
  // Of a job that has not begun nothing can be lost. Servers that have not said yet what they can may be able to
  // recover.
  view.survivable = !view.begun || ((!abilities || abilities->server_recovery) &&
                                    (observed.job.spec.backups > 0 || (checkpoint && !checkpoint->directory.empty())));
  view.by_index.assign(static_cast<size_t>(view.count), nullptr);
  view.marked_failures = observed.job.status.servers.failed;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsServerOf(observed, pod)) continue;
    view.marked_failures = std::max(view.marked_failures, pod.failure_number.value_or(0));
  }
  view.failures = view.marked_failures;
  for (const ObservedPod& pod : observed.pods) {
    if (!IsServerOf(observed, pod)) continue;
    const End end = view.elastic ? HowItEnded(observed, pod, options, now) : End::kUnknown;
    if (view.elastic && (pod.index >= view.count || pod.draining_since || end == End::kReleased)) {
      view.leaving.push_back(&pod);
      continue;
    }
    if (pod.index >= view.count) continue;
    if (end == End::kTooEarly) view.ended_early.push_back(&pod);
    if (view.elastic && IsWithoutRows(observed, pod)) view.without_rows.push_back(&pod);
    view.by_index[static_cast<size_t>(pod.index)] = &pod;
    if (IsBeingDeleted(pod)) continue;
    if (view.HasEndedBadly(pod) && !pod.failure_number &&
        MeaningOf(observed, pod).action != api::FailureAction::kIgnore)
      ++view.failures;
    if (view.HasEndedBadly(pod) && view.IsSurvivable(pod)) continue;
    ++view.existing;
    if (HasStarted(pod)) ++view.started;
    if (pod.ready) ++view.ready;
    if (HasSucceeded(pod)) ++view.finished;
  }
  // A server ends with 0 only when the job is finished, or when it was asked to leave. While another one runs, one
  // alone may have been released.
  const bool any_alive = std::ranges::any_of(
      observed.pods, [&](const ObservedPod& pod) { return IsServerOf(observed, pod) && IsAlive(pod); });
  const bool one_finished = std::ranges::any_of(
      view.by_index, [](const auto* pod) { return pod != nullptr && HasSucceeded(*pod) && !pod->failure_number; });
  view.goal_reached = view.goal_reached || (view.begun && one_finished && !any_alive);
  view.closed = IsClosedByWord(observed) || (view.begun && IsClosedByEnds(observed, view, options, now));
  std::ranges::sort(view.leaving, [](const auto* a, const auto* b) { return a->index > b->index; });
  return view;
}

bool BeginsUnheard(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now) {
  const ObservedPod* host = CoordinatorPod(observed);
  if (!servers.formed || servers.begun || !servers.all_started() || host == nullptr || !IsAlive(*host)) return false;
  return IsUnheardFor(observed, *host, options.begin_unheard_after, now);
}

const v1::Closing* LastWordOnClosing(const Observed& observed) {
  const auto& window = observed.sample.job;
  return window && window->has_closing() ? &window->closing() : nullptr;
}

bool HasDeclaredClosingWork(const Observed& observed) {
  const api::Condition* closed = api::FindCondition(observed.job.status, kClosingDone);
  const v1::Closing* word = LastWordOnClosing(observed);
  const bool left_behind = std::ranges::any_of(
      observed.pods, [&](const ObservedPod& pod) { return IsServerOf(observed, pod) && pod.container.closing_done; });
  return left_behind || (word != nullptr && word->declared()) ||
         (closed != nullptr && closed->reason != kReasonWorkersLeft);
}

std::string HowToResume(const Observed& observed) {
  const auto& checkpoint = observed.job.status.checkpoint;
  if (!checkpoint || checkpoint->directory.empty()) return "";
  return " The last checkpoint is " + checkpoint->directory + ": `attune run --resume " + checkpoint->directory +
         "` continues from there.";
}

}  // namespace attune::controller
