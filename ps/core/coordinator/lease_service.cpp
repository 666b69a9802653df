#include "ps/core/coordinator/lease_service.h"

#include <string>
#include <utility>

namespace attune::ps {

void LeaseService::OnMessage(MemberState& node, const OpenDataSet& message, CoordinatorOutputs& out) {
  const RequestId request = message.header.request;
  const CoordinatorOptions& options = job_.options();
  const StatusOr<DataSets::Opened> opened = data_sets_.Open(message,
                                                            {.items = options.items,
                                                             .lease_items = options.lease_items,
                                                             .goal = options.goal,
                                                             .resume = std::as_const(job_).resume(),
                                                             .steps = job_.members().TotalSteps()},
                                                            goals_.training().evaluations());
  if (!opened.ok()) return replies_.Refuse(node.member.node, request, opened.status(), out);
  const DataSet& data_set = *opened->data_set;
  if (opened->continues) {
    out.events.push_back("data set \"" + data_set.name + "\" continues after " +
                         std::to_string(data_set.ledger.items_done()) + " items of the checkpoint");
  }
  replies_.Reply(node.member.node, request,
                 DataSetOpened{.request = request, .data_set = data_set.id, .options = data_set.asked}, out);
}

void LeaseService::OnMessage(MemberState& node, const LeaseRequest& message, CoordinatorOutputs& out) {
  const NodeId worker = node.member.node;
  const RequestId request = message.header.request;
  if (Status problem = data_sets_.CheckRequest(worker, message.data_set); !problem.ok()) {
    return replies_.Refuse(worker, request, std::move(problem), out);
  }
  if (goals_.reached() && data_sets_.NoteClosing(message.data_set)) replies_.NoteChange();
  node.uses_leases = node.uses_leases || data_sets_.IsTraining(*data_sets_.Find(message.data_set));
  UpdateCounted(node);
  data_sets_.Wait({.worker = worker,
                   .request = request,
                   .data_set = message.data_set,
                   .deadline = job_.DeadlineAfter(message.header.remaining)});
  Serve(out);
}

void LeaseService::OnMessage(MemberState& node, const LeaseDone& message, CoordinatorOutputs& out) {
  data_sets_.Done(node.member.node, message.lease);
  NoteEnded(node, message.header.request, out);
}

void LeaseService::OnMessage(MemberState& node, const LeaseReturn& message, CoordinatorOutputs& out) {
  data_sets_.Return(node.member.node, message.lease, message.position);
  NoteEnded(node, message.header.request, out);
}

void LeaseService::NoteEnded(const MemberState& node, RequestId request, CoordinatorOutputs& out) {
  UpdateCounted(node);
  replies_.ReplyUnhurried(node.member.node, request, Done{.request = request}, out);
  Serve(out);
}

void LeaseService::Serve(CoordinatorOutputs& out) {
  const auto may_begin = [&](NodeId worker, const DataSet& data_set) {
    return pace_.MayBegin(worker) || !data_sets_.IsTraining(data_set);
  };
  const auto answer = [&](const WaitingLease& waiting, const DataSets::Answer& given) { Answer(waiting, given, out); };
  data_sets_.Serve(job_.now(), goals_.reached(), goals_.training().evaluations().any(), may_begin, answer);
}

void LeaseService::Answer(const WaitingLease& waiting, const DataSets::Answer& answer, CoordinatorOutputs& out) {
  const auto& [worker, request, data_set, deadline] = waiting;
  if (answer.ended) {
    return replies_.Reply(worker, request, LeasesEnded{.request = request, .reason = *answer.ended}, out);
  }
  if (!answer.granted) {
    const Status late = Error(StatusCode::kDeadlineExceeded, "all remaining items are with other workers; ask again");
    return replies_.Refuse(worker, request, late, out);
  }
  const Lease& lease = *answer.granted;
  UpdateCounted(job_.members().at(worker));
  replies_.Reply(worker, request,
                 LeaseGrant{.request = request,
                            .lease = lease.id,
                            .data_set = data_set,
                            .epoch = lease.epoch,
                            .begin = lease.begin,
                            .end = lease.end,
                            .floor = pace_.floor()},
                 out);
}

void LeaseService::RefuseWaiting(NodeId worker, CoordinatorOutputs& out) {
  for (const RequestId request : data_sets_.TakeWaiting(worker)) {
    replies_.Refuse(worker, request, Error(StatusCode::kDeadlineExceeded, "nothing is free by now; ask again"), out);
  }
}

bool LeaseService::HasWork(const MemberState& node) const {
  const bool steps = node.uses_leases ? job_.mutations().floor_counts_idle_workers : node.last.steps > 0;
  return steps || data_sets_.HoldsTrainingLease(node.member.node);
}

void LeaseService::ReturnAll(const MemberState& node, CoordinatorOutputs& out) {
  data_sets_.ReturnAll(node.member.node);
  UpdateCounted(node);
  Serve(out);
}

uint64_t LeaseService::ReleaseAll(NodeId worker) {
  return job_.mutations().keep_leases_of_lost_workers ? 0 : data_sets_.ReleaseAll(worker);
}

void LeaseService::MakeEvaluationDue(CoordinatorOutputs& out) {
  EvaluationSchedule& evaluations = goals_.training().evaluations();
  if (!evaluations.any() || goals_.reached() || !job_.Leads()) return;
  if (!data_sets_.AdvanceEvaluations(evaluations, job_.members().TotalSteps())) return;
  replies_.NoteChange();
  Serve(out);
}

void LeaseService::BeginClosing(CoordinatorOutputs& out) {
  data_sets_.BeginClosing();
  Serve(out);
}

void LeaseService::Restore(const CoordinatorRecord& record, CoordinatorOutputs& out) {
  const auto held_by = [this](NodeId worker) {
    const MemberState* node = std::as_const(job_).members().Find(worker);
    return node == nullptr ? nullptr : &node->last.leases;
  };
  for (CoordinatorRecord::DataSet kept : record.data_sets) {
    if (job_.mutations().mirror_ignored) {
      kept.progress.done.clear();
      kept.progress.finished_epochs = 0;
    }
    const uint64_t again = data_sets_.Restore(kept, goals_.training().evaluations().state().due, held_by,
                                              !job_.mutations().adopted_leases_granted);
    if (again == 0) continue;
    out.events.push_back(std::to_string(again) + " items of \"" + kept.progress.name +
                         "\" go to others: their workers were lost with the coordinator");
  }
}

void LeaseService::Fill(JobProgress& progress) const {
  progress.closing.declared = data_sets_.HasClosingWork();
  if (const DataSet* open = data_sets_.OpenClosingWork()) {
    progress.closing.data_set = open->name;
    progress.closing.items_left = open->ledger.items() * open->ledger.epochs() - open->ledger.items_done();
  }
  const DataSet* data_set = data_sets_.current();
  if (data_set == nullptr) return;
  const LeaseLedger& ledger = data_set->ledger;
  progress.data_set = data_set->name;
  progress.epochs = ledger.epochs();
  progress.epoch = ledger.AllDone() ? ledger.epochs() - 1 : ledger.epoch();
  progress.items = ledger.items();
  progress.items_done = ledger.items_done();
  progress.items_total = ledger.items() * ledger.epochs();
  progress.reprocessed_items = ledger.reprocessed_items();
}

}  // namespace attune::ps
