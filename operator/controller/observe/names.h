// Every name this room gives away, in one place: reasons of conditions and Events, annotations, names of pods.
#pragma once

#include <string>

#include "base/time_source.h"

namespace attune::controller {

// --- annotations of pods (those other programs read are in proto/contract.h)

// How many servers the job was started with: their number is fixed while it runs.
inline constexpr char kAnnotationServers[] = "attune.dev/servers";
// A server that was asked to leave: it is emptied first, however long that takes.
inline constexpr char kAnnotationDraining[] = "attune.dev/draining";
// "3": this pod's failure is the job's third; "0": its end is on record, and counts for none. Written to the pod before
// it is counted in the status, so that a restarted operator neither forgets nor counts it twice.
inline constexpr char kAnnotationFailureNumber[] = "attune.dev/failure-number";
// "2": failures of this pod's index in a row, without progress between them. On a pod that runs: of those before it.
inline constexpr char kAnnotationFailuresInARow[] = "attune.dev/failures-in-a-row";
// The pod's last resize (pod_resize.h): from which figures to which, and what has been reported of it.
inline constexpr char kAnnotationResize[] = "attune.dev/resize";
// On a worker that takes the place of one that moves: the uid of that one. An ordinary worker once that one is gone.
inline constexpr char kAnnotationStandsInFor[] = "attune.dev/stands-in-for";

// The job's attempt that the pod belongs to (status.suspension.attempt); absent: the first.
inline constexpr char kAnnotationAttempt[] = "attune.dev/attempt";

// --- reasons of conditions

inline constexpr char kReasonReady[] = "Ready";
inline constexpr char kReasonStarting[] = "Starting";
inline constexpr char kReasonNotReady[] = "NotReady";
inline constexpr char kReasonWaitingForServers[] = "WaitingForServers";
inline constexpr char kReasonUnschedulable[] = "Unschedulable";
inline constexpr char kReasonImage[] = "ImageNotAvailable";
inline constexpr char kReasonContainerConfig[] = "ContainerCannotStart";
inline constexpr char kReasonRestarting[] = "WorkerRestarting";
inline constexpr char kReasonLeaving[] = "PreviousPodLeaving";
inline constexpr char kReasonFinished[] = "JobFinished";
inline constexpr char kReasonReporting[] = "Reporting";
inline constexpr char kReasonNoReports[] = "NoReports";
inline constexpr char kReasonAllWorkersSucceeded[] = "AllWorkersSucceeded";
inline constexpr char kReasonTrainingFinished[] = "TrainingFinished";
inline constexpr char kReasonClosingFailed[] = "ClosingWorkFailed";
inline constexpr char kReasonClosingDone[] = "ClosingWorkDone";
inline constexpr char kReasonClosingDeclared[] = "ClosingWorkOpen";
inline constexpr char kReasonWorkersLeft[] = "WorkersLeft";
inline constexpr char kReasonProgressing[] = "StepsEnd";
inline constexpr char kReasonNoProgress[] = "NoProgress";
inline constexpr char kReasonNotHeard[] = "ProcessNotHeard";
inline constexpr char kReasonProgressDeadline[] = "ProgressDeadlineExceeded";
inline constexpr char kReasonBackoffLimit[] = "BackoffLimitExceeded";
inline constexpr char kReasonDeadline[] = "DeadlineExceeded";
inline constexpr char kReasonFailurePolicy[] = "PodFailurePolicy";
inline constexpr char kReasonServerFailed[] = "ServerFailed";
inline constexpr char kReasonServerLost[] = "ServerLost";
inline constexpr char kReasonInvalid[] = "Invalid";
inline constexpr char kReasonNameTaken[] = "NameTaken";
inline constexpr char kReasonQuota[] = "QuotaExceeded";
inline constexpr char kReasonRefused[] = "RefusedByPolicy";
inline constexpr char kReasonForbidden[] = "MissingPermission";
inline constexpr char kReasonApiAway[] = "ApiServerAway";
inline constexpr char kReasonServersFixed[] = "ServerScalingNotSupported";
inline constexpr char kReasonScaling[] = "WorkersLeaving";
inline constexpr char kReasonServersJoining[] = "ServersJoining";
inline constexpr char kReasonServersLeaving[] = "ServersLeaving";
inline constexpr char kReasonServerReplaced[] = "ReplacingServer";
inline constexpr char kReasonCoordinatorMoving[] = "CoordinatorMoving";
inline constexpr char kReasonCoordinatorSilent[] = "CoordinatorSilent";
inline constexpr char kReasonScalingRefused[] = "ServerScalingRefused";
inline constexpr char kReasonSynchronizationRefused[] = "SynchronizationRefused";
inline constexpr char kReasonRowManagementRefused[] = "RowManagementRefused";
inline constexpr char kReasonThreadsRefused[] = "ThreadsRefused";
inline constexpr char kReasonSwitching[] = "SwitchingSynchronization";
inline constexpr char kReasonResizing[] = "ResizingPods";
inline constexpr char kReasonResizeDeferred[] = "ResizeDeferred";
inline constexpr char kReasonResizeInfeasible[] = "ResizeInfeasible";
inline constexpr char kReasonResizeRefused[] = "ResizeRefused";
inline constexpr char kReasonResizeNotSupported[] = "ResizeNotSupported";
inline constexpr char kReasonMoving[] = "PodMoving";
inline constexpr char kReasonSettled[] = "Settled";
inline constexpr char kReasonSuspending[] = "Suspending";
inline constexpr char kReasonSuspended[] = "JobSuspended";
inline constexpr char kReasonQueued[] = "Queued";
inline constexpr char kReasonFullStrength[] = "FullStrength";
inline constexpr char kReasonSuspensionRefused[] = "SuspensionRefused";
inline constexpr char kReasonResumed[] = "JobResumed";

// --- reasons of Events

inline constexpr char kEventServersCreated[] = "ServersCreated";
inline constexpr char kEventWorkersCreated[] = "WorkersCreated";
inline constexpr char kEventTrainingStarted[] = "TrainingStarted";
inline constexpr char kEventScaled[] = "Scaled";
inline constexpr char kEventWorkerFailed[] = "WorkerFailed";
inline constexpr char kEventWorkerReplaced[] = "WorkerReplaced";
inline constexpr char kEventWorkersDraining[] = "WorkersDraining";
inline constexpr char kEventWorkerLeft[] = "WorkerLeft";
inline constexpr char kEventDrainDeadline[] = "DrainDeadlinePassed";
inline constexpr char kEventNodeLost[] = "NodeLost";
inline constexpr char kEventProcessHung[] = "ProcessHung";
inline constexpr char kEventProgressing[] = "Progressing";
inline constexpr char kEventServersJoining[] = "ServersAdded";
inline constexpr char kEventServersDraining[] = "ServersDraining";
inline constexpr char kEventServerLeft[] = "ServerLeft";
inline constexpr char kEventServerFailed[] = "ServerFailed";
inline constexpr char kEventServerReplaced[] = "ServerReplaced";
inline constexpr char kEventCoordinatorAppointed[] = "CoordinatorAppointed";
inline constexpr char kEventCoordinatorConfirmed[] = "CoordinatorConfirmed";
inline constexpr char kEventSynchronized[] = "SynchronizationSwitched";
inline constexpr char kEventCheckpointWritten[] = "CheckpointWritten";
inline constexpr char kEventCheckpointFailed[] = "CheckpointFailed";
inline constexpr char kEventRowsRestored[] = "RowsRestored";
inline constexpr char kEventTuningTrial[] = "TuningTrial";
inline constexpr char kEventTuningMove[] = "TuningMove";
inline constexpr char kEventTuningOutcome[] = "TuningOutcome";
inline constexpr char kEventTuningCrashed[] = "TuningSettingFailed";
inline constexpr char kEventTuningRecommended[] = "TuningRecommended";
inline constexpr char kEventTuningFinished[] = "TuningFinished";
inline constexpr char kEventPodResized[] = "PodResized";
inline constexpr char kEventResizeDeferred[] = "ResizeDeferred";
inline constexpr char kEventResizeInfeasible[] = "ResizeInfeasible";
inline constexpr char kEventMemoryRaised[] = "MemoryRaised";
inline constexpr char kEventMoveBegun[] = "PodMoving";
inline constexpr char kEventMachineAvoided[] = "MachineAvoided";
inline constexpr char kEventPodMoved[] = "PodMoved";
inline constexpr char kEventMoveRefused[] = "MoveRefused";
inline constexpr char kEventMoveGivenUp[] = "MoveGivenUp";
inline constexpr char kEventFindingAct[] = "FindingActedOn";
inline constexpr char kEventFindingOutcome[] = "FindingOutcome";
inline constexpr char kEventRowsRelocated[] = "RowsRelocated";
inline constexpr char kEventSuspending[] = "Suspending";
inline constexpr char kEventSuspended[] = "Suspended";
inline constexpr char kEventSuspensionRefused[] = "SuspensionRefused";
inline constexpr char kEventResumed[] = "Resumed";
inline constexpr char kEventRecovered[] = "ServerRecovered";
inline constexpr char kEventSucceeded[] = "Succeeded";
inline constexpr char kEventFailed[] = "Failed";
inline constexpr char kEventCleanedUp[] = "CleanedUp";
inline constexpr char kEventExpired[] = "Expired";

// --- kinds of actions that more than one room speaks of (actions/action.h)

inline constexpr char kActChooseSettings[] = "ChooseSettings";
inline constexpr char kActOpenTuningRecord[] = "OpenTuningRecord";
inline constexpr char kActWriteTuningRecord[] = "WriteTuningRecord";
inline constexpr char kActKeepTuningHistory[] = "KeepTuningHistory";

enum class RoleName { kServer, kWorker };

inline const char* ToString(RoleName role) { return role == RoleName::kServer ? "server" : "worker"; }
inline std::string PodName(const std::string& job, RoleName role, int32_t index) {
  return job + "-" + ToString(role) + "-" + std::to_string(index);
}
inline std::string ServiceName(const std::string& job) { return job; }
inline std::string BudgetName(const std::string& job) { return job + "-servers"; }
inline std::string TuningRecordName(const std::string& job) { return job + "-tuning"; }

}  // namespace attune::controller
