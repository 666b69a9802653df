// How a job ends: one of its goals is reached, then what follows the goal is done, evaluation, saving, export. The job
// is finished when that has ended well, and not when its workers merely are gone (docs/decisions/0037).
//
// Closing work that has a data set is done when every item of it is: an item whose worker failed, left early or died is
// free again. Work without one is judged by who leaves: as long as no worker has left in order since the goal was
// reached, or one has been lost that no later one has made up for, another worker is waited for.
//
// Pure; externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/time_source.h"
#include "ps/core/progress/data_sets.h"
#include "ps/core/progress/smoothed_loss.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

// What goals are about.
struct GoalFacts {
  const std::string& verdict;  // of the metrics (MetricBoard::verdict)
  const DataSet* trained;      // DataSets::TrainedToTheEnd
  uint64_t steps;              // of all workers; needed only for a goal that counts them
  const SmoothedLoss& loss;
  std::optional<Duration> trained_for;  // since the first worker joined
};
// Why training is over; empty: it continues.
std::string ReachedGoal(const JobGoal& goal, const GoalFacts& facts);

class JobEnding {
 public:
  // --- the goal

  void Reach(std::string reason) {
    goal_ = std::move(reason);
    closing_from_ = NodeId(1);
  }
  bool goal_reached() const { return !goal_.empty(); }
  const std::string& goal() const { return goal_; }

  // --- what follows it

  // In order.
  void NoteLeft(NodeId worker) {
    if (goal_reached() && worker >= closing_from_) closing_from_ = NodeId();
  }
  // It may have been at the closing work: a worker that joins from now on, `next` or a later one, has to look after
  // that.
  void NoteLost(NodeId next) {
    if (!goal_reached()) return;
    closing_from_ = next;
    reported_ = false;
  }
  // `declared`: there is closing work that has a data set; `open`: with items that are not done.
  bool ClosingIsDone(bool declared, bool open) const {
    return goal_reached() && !open && (closing_from_ == NodeId() || declared);
  }
  // Whether it is to be reported that the job waits for a worker: once, until another one is lost.
  bool MayReport() { return !std::exchange(reported_, true); }

  // --- records

  // A worker of this number or a later one has yet to leave in order before the job is finished; 0: none has to.
  NodeId closing_from() const { return closing_from_; }
  void Restore(std::string goal, NodeId closing_from) {
    goal_ = std::move(goal);
    closing_from_ = closing_from;
  }

 private:
  std::string goal_;
  NodeId closing_from_;
  bool reported_ = false;
};

}  // namespace attune::ps
