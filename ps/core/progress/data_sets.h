// The data sets of a job: what they were opened with, who waits for a lease of them, and what they are for: training,
// evaluation on the way, or work after the goal (docs/decisions/0037). Which items of one are done or leased is its
// ledger's part (ps/core/progress/lease_ledger.h).
//
// Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/progress/evaluation_schedule.h"
#include "ps/core/progress/lease_ledger.h"
#include "ps/core/progress/lease_size.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/progress_state.h"

namespace attune::ps {

struct DataSet {
  DataSetId id;
  std::string name;
  DataSetOptions asked;  // by the first opener
  bool follows_goal = true;
  bool closing = false;                  // has epochs of its own, and was asked for when the goal had been reached
  bool when_due = false;                 // evaluation on the way
  uint64_t items_in_newest = 0;          // done ones that the newest checkpoint contains
  std::optional<LeaseSize> chosen_size;  // empty: a given one, which stays
  LeaseLedger ledger;
};

struct WaitingLease {
  NodeId worker;
  RequestId request;
  DataSetId data_set;
  MonotonicTime deadline;
};

class DataSets {
 public:
  // What the job was started with, for data sets whose openers leave it open, and where it stands.
  struct Terms {
    uint64_t items = 0, lease_items = 0;
    const JobGoal& goal;
    const CutRecord* resume = nullptr;  // that the job continues from
    uint64_t steps = 0;                 // of all workers by now
  };
  struct Opened {
    const DataSet* data_set = nullptr;
    bool continues = false;  // where a checkpoint was cut
  };

  // Numbers of different terms never meet.
  explicit DataSets(uint32_t term) : next_lease_((uint64_t{term - 1} << 32) + 1) {}
  DataSets(const DataSets&) = delete;  // ledgers share its lease numbers
  DataSets& operator=(const DataSets&) = delete;

  // --- data sets

  // By the first opener; others must ask for the same.
  StatusOr<Opened> Open(const OpenDataSet& asked, const Terms& terms, EvaluationSchedule& evaluations);
  // nullptr: there is none.
  const DataSet* Find(DataSetId id) const;
  // The one leases were last taken from.
  const DataSet* current() const { return current_ ? Find(*current_) : nullptr; }
  // Where training stands.
  MetricPlace PlaceAt(uint64_t steps) const;
  // Side work (evaluation, export) is not training unless there is nothing else.
  bool IsTraining(const DataSet& data_set) const;
  // The first data set of the goal when all of them are done. A job whose data sets all have epochs of their own is
  // done with the last of them. nullptr: training continues.
  const DataSet* TrainedToTheEnd() const;
  // All data sets that are evaluated on the way have the same evaluations: the next is due when all have done the last.
  // True when another one is due now.
  bool AdvanceEvaluations(EvaluationSchedule& evaluations, uint64_t steps);

  // --- leases

  // Why this worker gets none of this data set; OK: it may wait.
  Status CheckRequest(NodeId worker, DataSetId id) const;
  void Wait(const WaitingLease& waiting) { waiting_.push_back(waiting); }
  // What becomes of a request. Neither: nothing was free until its deadline.
  struct Answer {
    std::optional<Lease> granted;
    std::optional<LeasesEndReason> ended;
  };
  // First come, first served, as far as there is something free. `may_begin(worker, data_set)` whether it may be given
  // work now, `answer(waiting, answer)` for each request that is over.
  template <typename MayBegin, typename OnAnswer>
  void Serve(MonotonicTime now, bool goal_reached, bool evaluates, MayBegin&& may_begin, OnAnswer&& on_answer) {
    std::erase_if(waiting_, [&](const WaitingLease& waiting) {
      const std::optional<Answer> answer =
          AnswerTo(waiting, now, goal_reached, evaluates,
                   [&](const DataSet& data_set) -> bool { return may_begin(waiting.worker, data_set); });
      if (answer) on_answer(waiting, *answer);
      return answer.has_value();
    });
  }
  // The worker's requests wait no longer; the coordinator answers them.
  std::vector<RequestId> TakeWaiting(NodeId worker);

  void Advance(NodeId worker, const std::vector<LeasePosition>& positions);
  void Done(NodeId worker, LeaseId lease);
  void Return(NodeId worker, LeaseId lease, uint64_t position);
  // The worker leaves in order: leases granted but not known to it are handed back untouched.
  void ReturnAll(NodeId worker);
  // It is lost. Returns how many items may be processed a second time.
  uint64_t ReleaseAll(NodeId worker);
  bool HoldsTrainingLease(NodeId worker) const;

  // --- after the goal

  // It is reached: what is asked for or leased now is closing work.
  void BeginClosing();
  // It is asked for after the goal. True when it is closing work from now on. A data set with epochs of its own that
  // was done before the goal was training, or an evaluation on the way.
  bool NoteClosing(DataSetId id);
  bool HasClosingWork() const;
  // The first one with items that are not done; nullptr: none.
  const DataSet* OpenClosingWork() const;

  // --- records

  std::vector<CutRecord::DataSet> Records() const;
  std::vector<CoordinatorRecord::DataSet> RecordsWithHolders() const;
  // This is the newest checkpoint.
  void NoteNewest(const CutRecord& record);
  // Items were processed that the newest checkpoint does not contain. Steps come with heartbeats, and what was pushed
  // since the last one is in none; the end of a lease is reported at once. While one is open and nothing was saved
  // (`no_checkpoint`), rows may have been trained of which nothing was reported.
  bool TrainedSinceNewest(bool no_checkpoint) const;
  // From the record of the coordinator before. Done > Leased > Free: a lease that its worker does not know has never
  // reached it, or was ended there; the end is answered only when the record has it, so no worker has processed such
  // items. `held_by(worker)` are the leases that it knows, nullptr when it is gone. Returns how many items go to
  // others.
  uint64_t Restore(const CoordinatorRecord::DataSet& kept, uint64_t evaluations_due,
                   const std::function<const std::vector<LeasePosition>*(NodeId)>& held_by, bool adopt = true);

 private:
  std::optional<Answer> AnswerTo(const WaitingLease& waiting, MonotonicTime now, bool goal_reached, bool evaluates,
                                 const std::function<bool(const DataSet&)>& may_begin);
  static std::optional<Lease> Grant(DataSet& data_set, NodeId worker, MonotonicTime now);
  DataSet* FindOpen(DataSetId id);
  bool TrainingIsEnding(const DataSet& asked, bool goal_reached) const;
  static bool NoteClosing(DataSet& data_set);

  std::vector<DataSet> data_sets_;  // by DataSetId - 1
  std::optional<DataSetId> current_;
  LeaseId next_lease_;
  std::deque<WaitingLease> waiting_;
};

}  // namespace attune::ps
