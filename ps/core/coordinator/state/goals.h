// What programs report of the model, and how the job ends by it: a goal is reached, and the closing work done
// (ps/core/progress/training_state.h, job_ending.h). Externally synchronized.
#pragma once

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/progress/data_sets.h"
#include "ps/core/progress/job_ending.h"
#include "ps/core/progress/training_state.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

class Goals {
 public:
  // Both outlive it.
  Goals(JobContext& job, Replies& replies);

  // With the coordinator's first step.
  void Begin() { training_.Begin(job_.now()); }

  // --- reports

  // Since the heartbeat before it.
  void AddLoss(const Heartbeat& before, const Heartbeat& next);
  // A metric, at this place of training. The request was taken up. False: refused.
  bool OnReport(const MemberState& node, const ReportMetric& message, const MetricPlace& place,
                CoordinatorOutputs& out);

  // --- the goal

  // The window of the loss ends when it is over. True when a goal is reached by that, or by what was reported before:
  // all members hear it. `trained`: DataSets::TrainedToTheEnd.
  bool Check(const DataSet* trained, CoordinatorOutputs& out);
  bool reached() const { return end_.goal_reached(); }
  void SendReason(const MemberState& node, CoordinatorOutputs& out) const;
  const std::string& reason() const { return end_.goal(); }

  // --- what follows it

  void NoteJoined();                                         // a worker
  void NoteLeft(NodeId worker) { end_.NoteLeft(worker); }    // in order
  void NoteLost() { end_.NoteLost(job_.members().next()); }  // a worker
  // All that follows the goal is done, but for the best checkpoint. That a worker is waited for is said once. `open`:
  // closing work that is not done.
  bool MayFinish(bool has_closing_work, const DataSet* open, CoordinatorOutputs& out);

  // --- the best checkpoint, evaluations

  TrainingState& training() { return training_; }
  const TrainingState& training() const { return training_; }
  bool BestIsDue() const { return training_.BestIsDue(job_.now(), reached()); }

  // --- records

  void Restore(const CoordinatorRecord& record);
  void Fill(CutRecord& record) const { training_.Fill(record, job_.now()); }
  void Fill(CoordinatorRecord& record) const;
  void Fill(JobProgress& progress) const;

 private:
  JobContext& job_;
  Replies& replies_;
  TrainingState training_;
  JobEnding end_;
};

}  // namespace attune::ps
