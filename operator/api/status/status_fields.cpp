// The table of fields: what is.
#include "operator/api/field_binding.h"
#include "operator/api/status/part_binding.h"

namespace attune::api {
namespace {

Progress& ProgressOf(TrainingJob& job) {
  return job.status.progress ? *job.status.progress : job.status.progress.emplace();
}
const Progress& ProgressOf(const TrainingJob& job) {
  static const Progress kNone;
  return job.status.progress ? *job.status.progress : kNone;
}
JobResult& ResultOf(TrainingJob& job) { return job.status.result ? *job.status.result : job.status.result.emplace(); }
const JobResult& ResultOf(const TrainingJob& job) {
  static const JobResult kNone;
  return job.status.result ? *job.status.result : kNone;
}
#define PROGRESS_LENS(member) \
  [](auto& job) -> auto& { return ProgressOf(job).member; }
#define RESULT_LENS(member) \
  [](auto& job) -> auto& { return ResultOf(job).member; }

template <class RoleLens>
void AddUsage(std::vector<Field>& fields, const std::string& path, RoleLens role) {
  const auto usage = [role](auto& job) -> auto& {
    auto& own = role(job).usage;
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(job)>>) {
      static const RoleUsage kNone;
      return own ? *own : kNone;
    } else {
      return own ? *own : own.emplace();
    }
  };
  Field object = Object(path, "What its pods use of late, as their sidecars report.");
  object.present = [role](const TrainingJob& job) { return role(job).usage.has_value(); };
  fields.push_back(object);
  fields.push_back(Bound(
      path + ".cpuCores", "Of one pod, their mean.", [usage](auto& job) -> auto& { return usage(job).cpu_cores; }));
  fields.push_back(Bound(
      path + ".cpuLimitCores",
      "Their limit, the mean; 0: none has one.", [usage](auto& job) -> auto& { return usage(job).cpu_limit_cores; }));
  fields.push_back(Bound(
      path + ".throttled",
      "Share of the time that a limit of CPU held them up, the mean.", [usage](auto& job) -> auto& {
        return usage(job).throttled;
      }));
  fields.push_back(OmitEmpty(Bound(
      path + ".fullest",
      "The pod nearest to its limit of memory.", [usage](auto& job) -> auto& { return usage(job).fullest; })));
  fields.push_back(Bound(
      path + ".memoryBytes", "Of that one.", [usage](auto& job) -> auto& { return usage(job).memory_bytes; }));
  fields.push_back(Bound(
      path + ".memoryLimitBytes",
      "Likewise; 0: none.", [usage](auto& job) -> auto& { return usage(job).memory_limit_bytes; }));
}

template <class RoleLens>
void AddRoleStatus(std::vector<Field>& fields, const std::string& path, RoleLens role) {
  fields.push_back(Object(path, "Counts of pods."));
  fields.push_back(Bound(
      path + ".replicas",
      "Pods that exist and are not on their way out.", [role](auto& job) -> auto& { return role(job).replicas; }));
  fields.push_back(Bound(
      path + ".ready", "Pods that are ready.", [role](auto& job) -> auto& { return role(job).ready; }));
  fields.push_back(Bound(
      path + ".failed", "Failures so far.", [role](auto& job) -> auto& { return role(job).failed; }));
  AddUsage(fields, path + ".usage", role);
}

void AddProgress(std::vector<Field>& fields) {
  Field progress = Object("status.progress", "Slow-changing summary of telemetry.");
  progress.present = [](const TrainingJob& job) { return job.status.progress.has_value(); };
  fields.push_back(progress);
  fields.push_back(Bound("status.progress.fraction", "Of the goal, 0 to 1.", PROGRESS_LENS(fraction)));
  fields.push_back(Bound("status.progress.epoch", "Current epoch, from 0.", PROGRESS_LENS(epoch)));
  fields.push_back(Bound("status.progress.epochs", "Goal; 0 when it is not in epochs.", PROGRESS_LENS(epochs)));
  fields.push_back(Bound("status.progress.itemsDone", "Over all epochs.", PROGRESS_LENS(items_done)));
  fields.push_back(Bound("status.progress.itemsTotal", "Over all epochs; 0 when unknown.", PROGRESS_LENS(items_total)));
  fields.push_back(
      Bound("status.progress.reprocessedItems", "Items done more than once.", PROGRESS_LENS(reprocessed_items)));
  fields.push_back(Bound("status.progress.loss", "Mean training loss of late.", PROGRESS_LENS(loss)));
  fields.push_back(Bound("status.progress.rate", "Samples per second of all workers.", PROGRESS_LENS(rate)));
  fields.push_back(
      OmitEmpty(Bound("status.progress.sampleUnit", "What is counted, e.g. words.", PROGRESS_LENS(sample_unit))));
  fields.push_back(
      Bound("status.progress.remainingSeconds", "Estimated time to the goal.", PROGRESS_LENS(remaining_seconds)));
  fields.push_back(OmitEmpty(Bound("status.progress.slowestWorker", "The worker that the others wait for (BSP, SSP).",
                                   PROGRESS_LENS(slowest_worker))));
  fields.push_back(Bound("status.progress.movingBytesLeft", "Rows on their way to other servers, in bytes.",
                         PROGRESS_LENS(moving_bytes_left)));
  fields.push_back(Bound("status.progress.movingRowsPerSecond", "Rows that changed their server, of late.",
                         PROGRESS_LENS(moving_rows_per_second)));
}

void AddAbilities(std::vector<Field>& fields) {
  constexpr auto kPart = &TrainingJobStatus::abilities;
  fields.push_back(PartObject("status.abilities", "What the servers of this job can do, as they said.", kPart));
  const auto add = [&](const char* name, const char* description, bool Abilities::*member) {
    fields.push_back(PartMember(std::string("status.abilities.") + name, description, kPart, member));
  };
  add("elasticServers", "Servers may join and leave while it runs.", &Abilities::elastic_servers);
  add("serverRecovery", "Rows of a lost server come back.", &Abilities::server_recovery);
  add("coordinatorFailover", "Another server can take over as coordinator.", &Abilities::coordinator_failover);
  add("synchronizationModes", "The mode can be switched while it runs.", &Abilities::synchronization_modes);
  add("rowManagement", "spec.rowManagement can be changed while it runs.", &Abilities::row_management);
  add("checkpoints", "Checkpoints can be written while it runs.", &Abilities::checkpoints);
}

void AddMove(std::vector<Field>& fields) {
  constexpr auto kPart = &TrainingJobStatus::move;
  fields.push_back(
      PartObject("status.move", "The pod that moves to another machine, or the last request for it.", kPart));
  const auto add = [&](const char* name, const char* description, std::string MoveStatus::*member) {
    fields.push_back(OmitEmpty(PartMember(std::string("status.move.") + name, description, kPart, member)));
  };
  add("request", "The last value of the annotation attune.dev/move that was taken up or answered.",
      &MoveStatus::request);
  add("pod", "The pod that moves, or moved.", &MoveStatus::pod);
  add("podUid", "Its uid.", &MoveStatus::pod_uid);
  add("from", "The machine it leaves.", &MoveStatus::from);
  add("to", "The machine that is preferred, absent: any other; of a move that is done, where it led.", &MoveStatus::to);
  add("why", "Why it is asked for.", &MoveStatus::why);
  add("state", "Moving, Moved, Refused or GivenUp.", &MoveStatus::state);
  add("since", "When it began, RFC 3339.", &MoveStatus::since);
  add("ended", "When it was done, refused or given up (RFC 3339).", &MoveStatus::ended);
  add("message", "What came of it, or why not.", &MoveStatus::message);
}

void AddSuspension(std::vector<Field>& fields) {
  constexpr auto kSuspension = &TrainingJobStatus::suspension;
  fields.push_back(
      PartObject("status.suspension",
                 "The job gives its machines back and continues later, or at once in new pods; or the last "
                 "time that it did.",
                 kSuspension));
  const auto add = [&](const char* name, const char* description, auto member) {
    fields.push_back(OmitEmpty(PartMember(std::string("status.suspension.") + name, description, kSuspension, member)));
  };
  add("state", "Refused, Checkpointing, Releasing, Suspended or Resumed.", &SuspensionStatus::state);
  add("why", "Why it is asked for.", &SuspensionStatus::why);
  add("since", "Since when it is in this state, RFC 3339.", &SuspensionStatus::since);
  add("resumed", "Since when it trains again, RFC 3339.", &SuspensionStatus::resumed);
  add("restarts", "It continues as soon as its pods are gone.", &SuspensionStatus::restarts);
  add("request", "The last value of the annotation attune.dev/restart that was taken up.", &SuspensionStatus::request);
  add("attempt", "How often all processes of the job have been started again.", &SuspensionStatus::attempt);
  add("directory", "Where the checkpoint lies that they begin with.", &SuspensionStatus::directory);
  add("checkpoint", "Its number.", &SuspensionStatus::checkpoint);
  add("gangTries", "Attempts in a row that were given up because not all pods found a machine.",
      &SuspensionStatus::gang_tries);
  add("message", "What it waits for, or why the job is not suspended.", &SuspensionStatus::message);
}

void AddPace(std::vector<Field>& fields) {
  constexpr auto kSynchronization = &TrainingJobStatus::synchronization;
  fields.push_back(PartObject("status.synchronization", "How workers keep pace now.", kSynchronization));
  fields.push_back(
      PartMember("status.synchronization.mode", "Async, BSP or SSP.", kSynchronization, &Synchronization::mode));
  fields.push_back(
      PartMember("status.synchronization.staleness", "Of SSP.", kSynchronization, &Synchronization::staleness));
  fields.push_back(
      Bound("status.rowManagement", "What workers make of announced rows now.", LENS(status.row_management)));
}

void AddNewestCheckpoint(std::vector<Field>& fields) {
  constexpr auto kCheckpoint = &TrainingJobStatus::checkpoint;
  const auto checkpoint = [&](const char* name, const char* description, auto member) {
    return PartMember(std::string("status.checkpoint.") + name, description, kCheckpoint, member);
  };
  fields.push_back(
      PartObject("status.checkpoint", "The newest checkpoint, and what became of the last request.", kCheckpoint));
  fields.push_back(OmitEmpty(checkpoint("directory", "Where it lies.", &CheckpointStatus::directory)));
  fields.push_back(checkpoint("number", "Its number in this directory.", &CheckpointStatus::number));
  fields.push_back(checkpoint("step", "It holds all pushes of the steps before this one.", &CheckpointStatus::step));
  fields.push_back(OmitEmpty(checkpoint("time", "When it was complete, RFC 3339.", &CheckpointStatus::time)));
  fields.push_back(checkpoint("bytes", "Its size.", &CheckpointStatus::bytes));
  fields.push_back(checkpoint("rows", "Rows it holds.", &CheckpointStatus::rows));
  fields.push_back(checkpoint("seconds", "What it took; absent: not known.", &CheckpointStatus::seconds));
  fields.push_back(checkpoint("intervalSeconds",
                              "Seconds between checkpoints, chosen for a job that states none; absent: it states one, "
                              "or has none.",
                              &CheckpointStatus::interval_seconds));
  fields.push_back(OmitEmpty(checkpoint("request", "The last request that was answered.", &CheckpointStatus::request)));
  fields.push_back(OmitEmpty(checkpoint("message", "Why that request failed.", &CheckpointStatus::message)));
  fields.push_back(OmitEmpty(checkpoint("regularMessage", "Why the last one by checkpoint.intervalSeconds failed.",
                                        &CheckpointStatus::regular_message)));
}

void AddBestCheckpoint(std::vector<Field>& fields) {
  constexpr auto kBest = &TrainingJobStatus::best_checkpoint;
  fields.push_back(PartObject("status.bestCheckpoint", "The best one, by spec.checkpoint.best.", kBest));
  const auto best = [&](const char* name, const char* description, auto member) {
    fields.push_back(PartMember(std::string("status.bestCheckpoint.") + name, description, kBest, member));
  };
  best("directory", "Where it lies.", &BestCheckpointStatus::directory);
  best("number", "Its number in this directory.", &BestCheckpointStatus::number);
  best("metric", "What it is the best by.", &BestCheckpointStatus::metric);
  best("value", "That metric, reported just before its rows were copied.", &BestCheckpointStatus::value);
  best("step", "Steps of all workers when it was reported.", &BestCheckpointStatus::step);
  best("epoch", "Epochs that were finished then.", &BestCheckpointStatus::epoch);
}

void AddStandstill(std::vector<Field>& fields) {
  constexpr auto kStandstill = &TrainingJobStatus::standstill;
  fields.push_back(PartObject("status.standstill",
                              "Restarts of what the job has waited for; absent once steps end again.", kStandstill));
  fields.push_back(PartMember("status.standstill.restarts", "In a row, without steps between.", kStandstill,
                              &StandstillStatus::restarts));
  fields.push_back(PartMember("status.standstill.restartedAt", "When the last one was, RFC 3339.", kStandstill,
                              &StandstillStatus::restarted_at));
  fields.push_back(PartMember("status.standstill.pods", "The pods that were restarted then, by numbers of their uids.",
                              kStandstill, &StandstillStatus::pods));
}

void AddRelief(std::vector<Field>& fields) {
  constexpr auto kRelief = &TrainingJobStatus::relief;
  fields.push_back(PartObject("status.relief", "The last hot server that has given shards away.", kRelief));
  fields.push_back(
      PartMember("status.relief.term", "Of the coordinator that relieved it.", kRelief, &ReliefStatus::term));
  fields.push_back(PartMember("status.relief.number", "How many that coordinator has relieved so far.", kRelief,
                              &ReliefStatus::number));
  fields.push_back(PartMember("status.relief.message", "Which server it was, and where its shards moved.", kRelief,
                              &ReliefStatus::message));
}

void AddRecovery(std::vector<Field>& fields) {
  constexpr auto kRecovery = &TrainingJobStatus::recovery;
  fields.push_back(PartObject("status.recovery", "What losses of servers have cost.", kRecovery));
  fields.push_back(PartMember("status.recovery.count", "Recoveries so far.", kRecovery, &RecoveryStatus::count));
  fields.push_back(PartMember("status.recovery.restoredRows",
                              "Rows that went back to a checkpoint or to their first value.", kRecovery,
                              &RecoveryStatus::restored_rows));
  const auto recovery = [&](const char* name, const char* description, auto member) {
    fields.push_back(PartMember(std::string("status.recovery.") + name, description, kRecovery, member));
  };
  recovery("restoredShards", "Shards they lie in.", &RecoveryStatus::restored_shards);
  recovery("checkpoint", "Number of the checkpoint the last loss took; 0: there was none.",
           &RecoveryStatus::checkpoint);
  recovery("step", "Where that was cut.", &RecoveryStatus::step);
  recovery("stepsLost", "Steps of all workers since then, as far as those rows go.", &RecoveryStatus::steps_lost);
}

void AddDataPlane(std::vector<Field>& fields) {
  AddPace(fields);
  AddAbilities(fields);
  AddNewestCheckpoint(fields);
  AddBestCheckpoint(fields);
  AddStandstill(fields);
  AddMove(fields);
  AddSuspension(fields);
  AddRelief(fields);
  AddRecovery(fields);
}

void AddRows(std::vector<Field>& fields) {
  constexpr auto kRows = &TrainingJobStatus::rows;
  fields.push_back(PartObject("status.rows",
                              "Where workers of late found the rows that their programs asked for; absent where "
                              "programs announce none.",
                              kRows));
  const auto add = [&](const char* name, const char* description, auto member) {
    fields.push_back(PartMember(std::string("status.rows.") + name, description, kRows, member));
  };
  add("perSecond", "Rows asked for, by all workers.", &RowPlaces::per_second);
  add("replicated", "Share of them with a copy at the worker.", &RowPlaces::replicated);
  add("owned", "Share that the worker owned.", &RowPlaces::owned);
  add("fetched", "Share that was fetched ahead, and there.", &RowPlaces::fetched);
  add("waited", "Share that was fetched ahead, and still on the way.", &RowPlaces::waited);
  add("remote", "Share that was asked for when it was needed.", &RowPlaces::remote);
  add("late", "Rows announced for a step that had begun, for each row asked for.", &RowPlaces::late);
  add("copies", "Copies at all workers.", &RowPlaces::copies);
  add("oldestReadSeconds", "The greatest age of a copy that was read.", &RowPlaces::oldest_read_seconds);
  add("flushedBytesPerSecond", "Changes of copies that were sent home.", &RowPlaces::flushed_bytes_per_second);
  add("refreshedBytesPerSecond", "Copies that came, and changes of others in them.",
      &RowPlaces::refreshed_bytes_per_second);
  add("ignored", "Announced rows are left where they are at present.", &RowPlaces::ignored);
  add("onTrial", "They are acted on and ignored in turns, to see which is faster.", &RowPlaces::on_trial);
  add("speedup", "By the last trial: the job's rate with announcements acted on, over that with them ignored.",
      &RowPlaces::speedup);
  add("tables", "Each table: its rows, what workers announce of them, and what the decisions of their homes save.",
      &RowPlaces::tables);
}

void AddRowTrace(std::vector<Field>& fields) {
  constexpr auto kTrace = &TrainingJobStatus::row_trace;
  fields.push_back(
      PartObject("status.rowTrace", "What happened to a row that was looked at (attune explain JOB --row).", kTrace));
  const auto add = [&](const char* name, const char* description, auto member) {
    fields.push_back(OmitEmpty(PartMember(std::string("status.rowTrace.") + name, description, kTrace, member)));
  };
  add("request", "The value of the annotation attune.dev/row-trace that is answered here.", &RowTraceStatus::request);
  add("time", "When that was, RFC 3339.", &RowTraceStatus::time);
  add("message", "What is wrong with it, or what is left out.", &RowTraceStatus::message);
  add("pods", "What each process saw; removed some minutes after the answer.", &RowTraceStatus::pods);
}

void AddResult(std::vector<Field>& fields) {
  Field result = Object("status.result", "What the job reported at its end.");
  result.present = [](const TrainingJob& job) { return job.status.result.has_value(); };
  fields.push_back(result);
  fields.push_back(Bound("status.result.metrics", "Final figures, e.g. held_out_loss.", RESULT_LENS(metrics)));
  fields.push_back(OmitEmpty(Bound("status.result.summary", "Text for people.", RESULT_LENS(summary))));
  fields.push_back(OmitEmpty(Bound("status.result.modelPath", "Where the model lies.", RESULT_LENS(model_path))));
  fields.push_back(OmitEmpty(Bound("status.result.leftOut", "What could not be kept of it, by name, with the reason.",
                                   RESULT_LENS(left_out))));
}

template <class Part>
void AddDisplay(std::vector<Field>& fields, const std::string& name, const std::string& description, Part part) {
  Field field = Object("status.display." + name, description);
  field.type = FieldType::kString;
  field.get = [part](const TrainingJob& job) -> Json { return MakeDisplay(job.status).*part; };
  field.set = [](TrainingJob&, const Json&) {};  // derived, never read back
  field.omit_empty = true;
  fields.push_back(field);
}

}  // namespace

void AddStatus(std::vector<Field>& fields) {
  fields.push_back(Object("status", "What is."));
  fields.push_back(Bound("status.observedGeneration", "Generation of the spec this status is about.",
                         LENS(status.observed_generation)));
  fields.push_back(Bound("status.conditions", "Ready, Succeeded, Failed and others.", LENS(status.conditions)));
  fields.push_back(OmitEmpty(Bound("status.phase", "For display, derived from the conditions.", LENS(status.phase))));
  fields.push_back(OmitEmpty(Bound("status.startTime", "RFC 3339.", LENS(status.start_time))));
  fields.push_back(OmitEmpty(Bound("status.completionTime", "RFC 3339.", LENS(status.completion_time))));
  AddRoleStatus(fields, "status.servers", LENS(status.servers));
  AddRoleStatus(fields, "status.workers", LENS(status.workers));
  fields.push_back(OmitEmpty(
      Bound("status.workerSelector", "Label selector of the workers, for /scale.", LENS(status.worker_selector))));
  AddProgress(fields);
  AddResult(fields);
  fields.push_back(Bound("status.metrics",
                         "What the worker program reported of the model: of each name the last and the best value, and "
                         "where the job was with them.",
                         LENS(status.metrics)));
  fields.push_back(OmitEmpty(Bound("status.coordinator", "Pod that runs the coordinator.", LENS(status.coordinator))));
  fields.push_back(Bound("status.coordinatorTerm", "Rises when another server is appointed; 0: the first.",
                         LENS(status.coordinator_term)));
  constexpr auto kVoters = &TrainingJobStatus::coordinator_voters;
  fields.push_back(PartObject("status.coordinatorVoters",
                              "Servers that the coordinator was confirmed with when it could not have a majority.",
                              kVoters));
  fields.push_back(PartMember("status.coordinatorVoters.mapVersion", "From this shard map on.", kVoters,
                              &CoordinatorVoters::map_version));
  fields.push_back(PartMember("status.coordinatorVoters.nodes", "Their numbers in the job, ascending.", kVoters,
                              &CoordinatorVoters::nodes));
  fields.push_back(
      OmitEmpty(Bound("status.begun", "All servers have joined once: training may have begun.", LENS(status.begun))));
  fields.push_back(OmitEmpty(Bound("status.secret",
                                   "Secret with the token of the job's processes, made by the operator where "
                                   "spec.security.tokenSecret names none.",
                                   LENS(status.secret))));
  AddDataPlane(fields);
  AddRows(fields);
  AddRowTrace(fields);
  AddTuningStatus(fields);
  constexpr auto kPolicy = &TrainingJobStatus::policy;
  fields.push_back(PartObject("status.policy", "Tuning policies that select this job.", kPolicy));
  fields.push_back(PartMember("status.policy.policies", "Their names.", kPolicy, &PolicyInForce::policies));
  fields.push_back(PartMember("status.policy.mode", "The mode in force.", kPolicy, &PolicyInForce::mode));
  fields.push_back(
      OmitEmpty(PartMember("status.policy.conflict", "What policies leave nothing of; the job keeps it as it is.",
                           kPolicy, &PolicyInForce::conflict)));
  fields.push_back(Bound("status.machineLosses",
                         "Pods that were lost with a machine, or failed on it, within the last hour. New pods avoid a "
                         "machine with two of them, where there is room elsewhere.",
                         LENS(status.machine_losses)));
  fields.push_back(Bound("status.settings",
                         "What the operator has chosen instead of what the spec says, where it does not write into "
                         "the spec (spec.tuning.writeTo).",
                         LENS(status.settings)));
  fields.push_back(Object("status.display", "Strings for table columns, derived from the rest."));
  AddDisplay(fields, "servers", "Ready and existing servers.", &Display::servers);
  AddDisplay(fields, "workers", "Ready and existing workers.", &Display::workers);
  AddDisplay(fields, "progress", "Share of the goal.", &Display::progress);
  AddDisplay(fields, "loss", "Training loss of late.", &Display::loss);
  AddDisplay(fields, "rate", "Samples per second of all workers.", &Display::rate);
  AddDisplay(fields, "remaining", "Estimated time to the goal.", &Display::remaining);
}

}  // namespace attune::api
