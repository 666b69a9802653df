#include "operator/controller/execute/tuners.h"

#include <utility>

#include "base/log.h"
#include "operator/controller/queue/queue_book.h"
#include "operator/controller/tuning/tuning_input.h"

namespace attune::controller {

Tuners::Tuners(const std::string& history_file, const kube::WatchCache& jobs)
    : has_file_(!history_file.empty()), finished_jobs_(history_file), ledger_(jobs) {
  const Status read = finished_jobs_.Open();
  if (!read.ok()) log::Warn("the tuner begins without what it learned of earlier jobs", {{"reason", read}});
}

void Tuners::Step(Observed& observed, JobMemory& memory, const PlanOptions& options, Now now) {
  const MutexLock lock(mutex_);
  if (observed.policy) observed.room = ledger_.RoomOf(observed.job, *observed.policy, now.monotonic);
  if (observed.queue) HoldToAdmitted(*observed.queue, observed.job, observed.room);
  HoldMemory(observed.room, observed.job);
  if (!IsTuned(observed)) {
    KeepLocked(memory);
    memory.tuning.reset();
    memory.done.tuning.reset();  // read again should it be tuned again
    observed.finished_tuning = memory.done.finished_tuning;
    return;
  }
  const std::optional<KeptTuning>& kept = memory.done.tuning;
  // What is not known to be kept, or is newer than the job that this look shows, is not worked with.
  if (!kept || (!memory.tuning && kept->record.generation > observed.job.generation)) {
    memory.tuning.reset();
    observed.opens_tuning_record = true;
    return;
  }
  observed.tuning_state = kept->record.state;
  if (!memory.tuning) {
    memory.tuning.emplace(kept->record.state);
    memory.tuning->SetHistory(has_file_ ? finished_jobs_.history() : std::exchange(memory.done.history, {}));
  }
  const ServersView servers = ViewServers(observed, options, now);
  const TuningInput input = MakeTuningInput(observed, servers, ViewWorkers(observed, servers, options, now), now);
  observed.tuning = memory.tuning->Step(input, priors_);
  ledger_.Note(observed.job, observed.tuning->change, observed.tuning->changing, now.monotonic);
  for (TuningOutput::Event& event : observed.tuning->events) memory.events.push_back(std::move(event));
  observed.tuning->events = memory.events;
}

void Tuners::Keep(JobMemory& memory) {
  const MutexLock lock(mutex_);
  KeepLocked(memory);
}

void Tuners::KeepLocked(JobMemory& memory) {
  auto summary = memory.tuning ? memory.tuning->Summary() : std::nullopt;
  if (!summary) return;
  summary->job = memory.job_uid;
  if (!has_file_) {
    tuner::JobHistory history;
    history.Add(*std::move(summary));
    memory.done.finished_tuning = history.Save();
    return;
  }
  const Status kept = finished_jobs_.Add(*std::move(summary));
  if (!kept.ok()) log::Warn("what the tuner learned of a job was not kept", {{"reason", kept}});
}

}  // namespace attune::controller
