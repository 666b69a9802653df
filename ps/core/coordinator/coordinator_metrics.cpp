// What programs say of the model, and when they are to evaluate it. Reports are requests like any other: each counts
// once, and is answered when the copy of the coordinator's state has it.
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

MetricPlace CoordinatorCore::PlaceNow() const {
  MetricPlace place{.step = TotalSteps()};
  if (!current_data_set_) return place;
  const LeaseLedger& ledger = data_sets_[current_data_set_->value() - 1].ledger;
  place.epoch = ledger.epoch();
  place.items = ledger.items_done();
  return place;
}

void CoordinatorCore::OnMessage(Node& node, const ReportMetric& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  if (Status status = metrics_.Report(message.name, message.value, PlaceNow()); !status.ok()) {
    if (!std::exchange(reported_metrics_refused_, true)) out.events.push_back(std::string(attune::Message(status)));
    return Reply(node.member.node, request, Refused{.request = request, .status = std::move(status)}, out);
  }
  best_.Note(message.name, metrics_, now);
  Reply(node.member.node, request, Done{.request = request}, out);
  CheckGoals(now, out);
}

// All data sets that are evaluated on the way have the same evaluations: the next is due when all have done the last.
void CoordinatorCore::MakeEvaluationDue(MonotonicTime now, CoordinatorOutputs& out) {
  if (!evaluations_.any() || !goal_reached_.empty() || !HoldsLease(now)) return;
  bool asked_for = false, done = true;
  for (const DataSet& data_set : data_sets_) {
    if (!data_set.when_due) continue;
    asked_for = true;
    done = done && data_set.ledger.epoch() >= evaluations_.state().due;
  }
  const MetricPlace place = PlaceNow();
  if (!asked_for || !evaluations_.Advance(place.epoch, place.step, done)) return;
  mirror_.NoteChange();
  for (DataSet& data_set : data_sets_) {
    if (data_set.when_due) data_set.ledger.BeginUpTo(evaluations_.state().due);
  }
  ServeLeases(now, out);
}

}  // namespace attune::ps
