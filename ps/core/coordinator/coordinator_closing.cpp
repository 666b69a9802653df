// What follows the goal: evaluation, saving, export. The job is finished when that has ended well, and not when its
// workers merely are gone (docs/decisions/0037).
//
// Closing work that has a data set is done when every item of it is: an item whose worker failed, left early or died is
// free again. Work without one is judged by who leaves: as long as no worker has left in order since the goal was
// reached, or one has been lost that no later one has made up for, another worker is waited for.
#include <algorithm>

#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::BeginClosing() {
  closing_from_ = NodeId(1);
  for (DataSet& data_set : data_sets_) {
    const bool asked_for = std::ranges::any_of(
        waiting_leases_, [&](const WaitingLease& waiting) { return waiting.data_set == data_set.id; });
    if (asked_for || !data_set.ledger.leases().empty()) NoteClosing(data_set);
  }
}

// A data set with epochs of its own that was done before the goal was training, or an evaluation on the way.
void CoordinatorCore::NoteClosing(DataSet& data_set) {
  if (goal_reached_.empty() || data_set.follows_goal || data_set.when_due || data_set.closing) return;
  if (data_set.ledger.AllDone()) return;
  data_set.closing = true;
  mirror_.NoteChange();
}

void CoordinatorCore::NoteLeft(NodeId worker) {
  if (!goal_reached_.empty() && worker >= closing_from_) closing_from_ = NodeId();
}

// It may have been at the closing work: a worker that joins from now on has to look after that.
void CoordinatorCore::NoteWorkerLost() {
  if (goal_reached_.empty()) return;
  closing_from_ = next_node_;
  reported_waiting_ = false;
}

const CoordinatorCore::DataSet* CoordinatorCore::OpenClosingWork() const {
  const auto open = std::ranges::find_if(
      data_sets_, [](const DataSet& data_set) { return data_set.closing && !data_set.ledger.AllDone(); });
  return open == data_sets_.end() ? nullptr : &*open;
}

bool CoordinatorCore::ClosingIsDone() const {
  if (goal_reached_.empty()) return false;
  if (OpenClosingWork() != nullptr && !options_.mutations.closing_not_awaited) return false;
  return closing_from_ == NodeId() || std::ranges::any_of(data_sets_, &DataSet::closing);
}

}  // namespace attune::ps
