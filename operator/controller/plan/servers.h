// The servers of a job, viewed once for all policies: which there are, which leave, and what the job has reached.
// Who is created, what changes their number, and what replaces a lost one, is server_changes.h; when the loss of one
// ends the job, verdicts/server_verdicts.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// A condition that stays for an attempt: training has begun, and with how many servers and workers it continued last.
inline constexpr char kTrainingStarted[] = "TrainingStarted";
// A condition: the coordinator has said that the goal is reached. On record before processes that have finished go, so
// that no end of theirs, however it looks, is taken for a failure.
inline constexpr char kGoalReached[] = "GoalReached";
// A condition: what follows the goal (evaluation, saving) has ended well too, by the coordinator's word; likewise on
// record. Its reason says whether there was a data set for it (kReasonClosingDone) or its workers have merely left in
// order (kReasonWorkersLeft).
inline constexpr char kClosingDone[] = "ClosingWorkDone";

// The end of a job, decided.
struct Verdict {
  bool success = false;
  std::string reason;  // of the condition
  std::string message;
};

struct ServersView {
  int32_t wanted = 0;                        // by the spec, or of its start unless `elastic`
  int32_t count = 0;                         // what the job is to have now: one more while its only one moves
  std::vector<const ObservedPod*> by_index;  // count entries; null: there is none, or it is leaving
  // Highest index first: beyond `count`, asked to leave before, or released before it was wanted again.
  std::vector<const ObservedPod*> leaving;
  int32_t existing = 0, started = 0, ready = 0;
  int32_t finished = 0;  // ended by themselves with 0, and no process has said that the job continues without them
  // With 0, although the coordinator continues and has not released them.
  std::vector<const ObservedPod*> ended_early;
  // Without rows: the coordinator's last word names them neither members nor lost. One that has joined
  // since is judged by the coordinator, which ends the job if rows are lost.
  std::vector<const ObservedPod*> without_rows;
  int32_t marked_failures = 0;  // so far, as the status and marked pods say
  int32_t failures = 0;         // those included that are not marked yet
  // All servers were seen running at the same time once: from then on they hold state (status.coordinator says so).
  bool formed = false;
  // The coordinator has said that all servers have joined, or was not heard for long. Until that is on record
  // (status.begun) there are no workers and nothing has been trained: whatever is lost starts over.
  bool begun = false;
  bool elastic = false;     // begun, and its servers may join and leave
  bool survivable = false;  // losing a server does not end the job
  bool goal_reached = false;
  // The closing work is done, too: the job has ended well, whatever becomes of its processes (docs/decisions/0037).
  bool closed = false;
  bool all_started() const { return started == count; }
  // A server ends with 0 when the job is finished or its rows have moved away; neither can be of a job that has not
  // begun. For one that continues its coordinator says it.
  bool HasEndedBadly(const ObservedPod& pod) const;
  // The job can do without this server.
  bool IsSurvivable(const ObservedPod& pod) const;
};

ServersView ViewServers(const Observed& observed, const PlanOptions& options, Now now);

// The coordinator runs, and has not been heard for so long that its word is not waited for: training does not depend on
// telemetry.
bool BeginsUnheard(const Observed& observed, const ServersView& servers, const PlanOptions& options, Now now);

// What the job's servers can do, as the status or their coordinator says; nullopt: no process has said it yet.
std::optional<api::Abilities> AbilitiesOf(const Observed& observed);
// The same, as the status has it.
api::Abilities ToStatus(const v1::Abilities& can);

// What the coordinator said last of the closing work, however long ago; null: nothing.
const v1::Closing* LastWordOnClosing(const Observed& observed);
// There is a data set for the closing work, by that word, on record, or left behind by the coordinator's process: then
// items of it say whether it is done.
bool HasDeclaredClosingWork(const Observed& observed);
// " The last checkpoint is ...: `attune run --resume ...` continues from there."; "" when there is none.
std::string HowToResume(const Observed& observed);

// It ended by itself with 0, at least `grace` ago as far as is known.
bool EndedLongAgo(const ObservedPod& pod, Duration grace, Now now);

// True when `name` is taken by a pod, of this job or an earlier one.
bool NameInUse(const Observed& observed, const std::string& name);

}  // namespace attune::controller
