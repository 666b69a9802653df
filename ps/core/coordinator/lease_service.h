// Training data: data sets that workers open, and leases of their items (ps/core/progress/data_sets.h). A worker with
// work holds up the others, so it is counted or not after each change. Externally synchronized.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/pace.h"
#include "ps/core/coordinator/state/goals.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/progress/data_sets.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

class LeaseService {
 public:
  // All of them outlive it.
  LeaseService(JobContext& job, Replies& replies, Goals& goals, Pace& pace)
      : job_(job), replies_(replies), goals_(goals), pace_(pace), data_sets_(job.options().term) {}

  // --- requests, which were taken up

  void OnMessage(MemberState& node, const OpenDataSet& message, CoordinatorOutputs& out);
  void OnMessage(MemberState& node, const LeaseRequest& message, CoordinatorOutputs& out);
  void OnMessage(MemberState& node, const LeaseDone& message, CoordinatorOutputs& out);
  void OnMessage(MemberState& node, const LeaseReturn& message, CoordinatorOutputs& out);
  // Answers what is over: with leases, as far as there is something free.
  void Serve(CoordinatorOutputs& out);
  // A request that waits for long, for an evaluation to become due, keeps its sender from saying that the answers to
  // later ones have arrived. It is asked again at once.
  void RefuseWaiting(NodeId worker, CoordinatorOutputs& out);

  // --- workers

  // What its last heartbeat says of its leases.
  void Advance(const MemberState& node) { data_sets_.Advance(node.member.node, node.last.leases); }
  bool HasWork(const MemberState& node) const;
  void UpdateCounted(const MemberState& node) { pace_.SetCounted(node.member.node, HasWork(node)); }
  // It leaves in order, and has ended all that it knows of.
  void ReturnAll(const MemberState& node, CoordinatorOutputs& out);
  // It is lost. Returns how many items go to others, by which some may be processed a second time.
  uint64_t ReleaseAll(NodeId worker);
  // It is no member any more: its requests wait no longer.
  void NoteGone(NodeId worker) { (void)data_sets_.TakeWaiting(worker); }

  // --- goals

  MetricPlace PlaceNow() const { return data_sets_.PlaceAt(job_.members().TotalSteps()); }
  const DataSet* TrainedToTheEnd() const { return data_sets_.TrainedToTheEnd(); }
  // The next evaluation, if it is time for that.
  void MakeEvaluationDue(CoordinatorOutputs& out);
  // The goal is reached: what is leased from now on is closing work. All who wait are informed that there is no more.
  void BeginClosing(CoordinatorOutputs& out);
  bool HasClosingWork() const { return data_sets_.HasClosingWork(); }
  const DataSet* OpenClosingWork() const { return data_sets_.OpenClosingWork(); }

  // --- records

  std::vector<CutRecord::DataSet> Records() const { return data_sets_.Records(); }
  void NoteNewest(const CutRecord& record) { data_sets_.NoteNewest(record); }
  bool TrainedSinceNewest(bool no_checkpoint) const { return data_sets_.TrainedSinceNewest(no_checkpoint); }
  void Restore(const CoordinatorRecord& record, CoordinatorOutputs& out);
  void Fill(CoordinatorRecord& record) const { record.data_sets = data_sets_.RecordsWithHolders(); }
  void Fill(JobProgress& progress) const;

 private:
  void Answer(const WaitingLease& waiting, const DataSets::Answer& answer, CoordinatorOutputs& out);
  void NoteEnded(const MemberState& node, RequestId request, CoordinatorOutputs& out);

  JobContext& job_;
  Replies& replies_;
  Goals& goals_;
  Pace& pace_;
  DataSets data_sets_;
};

}  // namespace attune::ps
