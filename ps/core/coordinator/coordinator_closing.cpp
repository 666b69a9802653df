// What follows the goal: evaluation, saving, export. The job is finished when that has ended well, and not when its
// workers merely are gone (docs/decisions/0037).
//
// Closing work that has a data set is done when every item of it is: an item whose worker failed, left early or died is
// free again. Work without one is judged by who leaves: as long as no worker has left in order since the goal was
// reached, or one has been lost that no later one has made up for, another worker is waited for.
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::BeginClosing() {
  closing_from_ = NodeId(1);
  data_sets_.BeginClosing();
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

bool CoordinatorCore::ClosingIsDone() const {
  if (goal_reached_.empty()) return false;
  if (data_sets_.OpenClosingWork() != nullptr && !options_.mutations.closing_not_awaited) return false;
  return closing_from_ == NodeId() || data_sets_.HasClosingWork();
}

}  // namespace attune::ps
