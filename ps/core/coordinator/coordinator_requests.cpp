// What workers ask of the coordinator: tables and data leases.
#include <algorithm>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/progress/differences.h"
#include "ps/core/protocol/limits.h"
#include "ps/store/formulas/table_options.h"

namespace attune::ps {
namespace {

MonotonicTime DeadlineAfter(Duration remaining, MonotonicTime now) {
  return remaining < kNever - now ? now + remaining : kNever;
}

std::string Difference(const TableOptions& here, const TableOptions& there) {
  Differences differences;
  differences.Compare("dim", here.dim, there.dim);
  differences.Compare("optimizer", Describe(here.optimizer), Describe(there.optimizer));
  differences.Compare("initializer", Describe(here.initializer), Describe(there.initializer));
  differences.Compare("seed", here.seed, there.seed);
  differences.Compare("rows_max", here.rows_max, there.rows_max);
  differences.Compare("schedule", Describe(here.schedule), Describe(there.schedule));
  differences.Compare("value_type", Describe(here.value_type), Describe(there.value_type));
  differences.Compare("non_finite_gradients", Describe(here.non_finite_gradients),
                      Describe(there.non_finite_gradients));
  return differences.text();
}

}  // namespace

// --- tables

void CoordinatorCore::OnMessage(Node& node, const OpenTable& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const NodeId asker = node.member.node;
  const RequestId request = message.header.request;
  const auto refuse = [&](StatusCode code, const std::string& text) {
    Reply(asker, request, Refused{.request = request, .status = Error(code, text)}, out);
  };
  if (message.spec.name.empty() || message.spec.name.size() > kNameBytesMax) {
    return refuse(StatusCode::kInvalidArgument, "a table's name has 1 to " + std::to_string(kNameBytesMax) + " bytes");
  }
  const JobTables::Waiter waiter{.node = asker, .request = request};
  if (const TableSpec* known = tables_.Find(message.spec.name)) {
    if (const std::string difference = Difference(message.spec.options, known->options); !difference.empty()) {
      return refuse(StatusCode::kFailedPrecondition, difference + "; all workers must say the same");
    }
    return AnswerTableWaiters(tables_.Wait(message.spec.name, waiter), out);
  }
  if (tables_.IsFull()) {
    return refuse(StatusCode::kResourceExhausted,
                  "the job has " + std::to_string(kTablesMax) + " tables, more are not allowed");
  }
  const TableId table = tables_.Open(message.spec, waiter, members_.Servers(), now);
  for (const auto& [id, member] : members_) {
    if (member.member.role == Role::kServer) Send(member, tables_.OrderOf(table, map_.version), out);
  }
}

void CoordinatorCore::OnMessage(Node& node, const TableInstalled& message, MonotonicTime, CoordinatorOutputs& out) {
  const Status problem = message.status.ok() ? OkStatus() : Annotate(message.status, members_.Name(node.member.node));
  JobTables::Installed installed = tables_.OnInstalled(node.member.node, message.table, problem);
  if (installed.changes) placement_.NoteChange();
  if (!installed.event.empty()) out.events.push_back(std::move(installed.event));
  AnswerTableWaiters(installed.answers, out);
}

void CoordinatorCore::AnswerTableWaiters(const std::vector<JobTables::Answer>& answers, CoordinatorOutputs& out) {
  for (const auto& [to, table, status] : answers) {
    if (status.ok()) {
      Reply(to.node, to.request, TableOpened{.request = to.request, .table = table}, out);
    } else {
      Reply(to.node, to.request, Refused{.request = to.request, .status = status}, out);
    }
  }
}

void CoordinatorCore::AskOpenersToWait(MonotonicTime now, CoordinatorOutputs& out) {
  for (const auto& [asker, request] : tables_.StillWaiting(now)) {
    if (const Node* node = members_.Find(asker)) Send(*node, StillWorking{.request = request}, out);
  }
}

// --- data

void CoordinatorCore::OnMessage(Node& node, const OpenDataSet& message, MonotonicTime, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  const StatusOr<DataSets::Opened> opened = data_sets_.Open(message,
                                                            {.items = options_.items,
                                                             .lease_items = options_.lease_items,
                                                             .goal = options_.goal,
                                                             .resume = options_.resume ? &*options_.resume : nullptr,
                                                             .steps = members_.TotalSteps()},
                                                            training_.evaluations());
  if (!opened.ok()) {
    return Reply(node.member.node, request, Refused{.request = request, .status = opened.status()}, out);
  }
  const DataSet& data_set = *opened->data_set;
  if (opened->continues) {
    out.events.push_back("data set \"" + data_set.name + "\" continues after " +
                         std::to_string(data_set.ledger.items_done()) + " items of the checkpoint");
  }
  Reply(node.member.node, request,
        DataSetOpened{.request = request, .data_set = data_set.id, .options = data_set.asked}, out);
}

void CoordinatorCore::OnMessage(Node& node, const LeaseRequest& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const NodeId worker = node.member.node;
  const RequestId request = message.header.request;
  if (Status problem = data_sets_.CheckRequest(worker, message.data_set); !problem.ok()) {
    return Reply(worker, request, Refused{.request = request, .status = std::move(problem)}, out);
  }
  if (end_.goal_reached() && data_sets_.NoteClosing(message.data_set)) mirror_.NoteChange();
  node.uses_leases = node.uses_leases || data_sets_.IsTraining(*data_sets_.Find(message.data_set));
  UpdateCounted(node);
  data_sets_.Wait({.worker = worker,
                   .request = request,
                   .data_set = message.data_set,
                   .deadline = DeadlineAfter(message.header.remaining, now)});
  ServeLeases(now, out);
}

// While a hold is in progress no worker begins that has not promised to stop.
void CoordinatorCore::ServeLeases(MonotonicTime now, CoordinatorOutputs& out) {
  const auto may_begin = [&](NodeId worker, const DataSet& data_set) {
    return !clocks_.holding() || clocks_.IsCounted(worker) || !data_sets_.IsTraining(data_set);
  };
  const auto answer = [&](const WaitingLease& waiting, const DataSets::Answer& given) {
    if (given.ended) {
      return Reply(waiting.worker, waiting.request, LeasesEnded{.request = waiting.request, .reason = *given.ended},
                   out);
    }
    if (!given.granted) {
      const Status late = Error(StatusCode::kDeadlineExceeded, "all remaining items are with other workers; ask again");
      return Reply(waiting.worker, waiting.request, Refused{.request = waiting.request, .status = late}, out);
    }
    const Lease& lease = *given.granted;
    UpdateCounted(members_.at(waiting.worker));
    Reply(waiting.worker, waiting.request,
          LeaseGrant{.request = waiting.request,
                     .lease = lease.id,
                     .data_set = waiting.data_set,
                     .epoch = lease.epoch,
                     .begin = lease.begin,
                     .end = lease.end,
                     .floor = clocks_.floor()},
          out);
  };
  data_sets_.Serve(now, end_.goal_reached(), training_.evaluations().any(), may_begin, answer);
}

void CoordinatorCore::OnMessage(Node& node, const LeaseDone& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  data_sets_.Done(node.member.node, message.lease);
  NoteLeaseEnded(node, message.header.request, now, out);
}

void CoordinatorCore::OnMessage(Node& node, const LeaseReturn& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  data_sets_.Return(node.member.node, message.lease, message.position);
  NoteLeaseEnded(node, message.header.request, now, out);
}

void CoordinatorCore::NoteLeaseEnded(Node& node, RequestId request, MonotonicTime now, CoordinatorOutputs& out) {
  UpdateCounted(node);
  Reply(node.member.node, request, Done{.request = request}, out);
  ServeLeases(now, out);
  CheckGoals(now, out);
}

// Everything this server has been asked to do and has not reported: after a reconnect, and now and then.
void CoordinatorCore::SendOpenOrders(const Node& server, CoordinatorOutputs& out) {
  for (InstallTable& order : tables_.OrdersFor(server.member.node, map_.version)) Send(server, std::move(order), out);
}

}  // namespace attune::ps
