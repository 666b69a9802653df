// What programs say of the model, and when they are to evaluate it. Reports are requests like any other: each counts
// once, and is answered when the copy of the coordinator's state has it.
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::OnMessage(Node& node, const ReportMetric& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  if (Status status = metrics_.Report(message.name, message.value, data_sets_.PlaceAt(members_.TotalSteps()));
      !status.ok()) {
    if (!std::exchange(reported_metrics_refused_, true)) out.events.push_back(std::string(attune::Message(status)));
    return Reply(node.member.node, request, Refused{.request = request, .status = std::move(status)}, out);
  }
  best_.Note(message.name, metrics_, now);
  Reply(node.member.node, request, Done{.request = request}, out);
  CheckGoals(now, out);
}

void CoordinatorCore::MakeEvaluationDue(MonotonicTime now, CoordinatorOutputs& out) {
  if (!evaluations_.any() || end_.goal_reached() || !leadership_.Held(now)) return;
  if (!data_sets_.AdvanceEvaluations(evaluations_, members_.TotalSteps())) return;
  mirror_.NoteChange();
  ServeLeases(now, out);
}

}  // namespace attune::ps
