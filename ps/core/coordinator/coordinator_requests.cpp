// What workers ask of the coordinator: tables and data leases.
#include <algorithm>
#include <sstream>
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
  const auto known = std::ranges::find_if(tables_, [&](const TableEntry& table) {
    return table.failed.ok() && table.spec.name == message.spec.name;  // a failed one may be opened again
  });
  if (known != tables_.end()) {
    if (const std::string difference = Difference(message.spec.options, known->spec.options); !difference.empty()) {
      return refuse(StatusCode::kFailedPrecondition, difference + "; all workers must say the same");
    }
    known->waiting.emplace_back(asker, request);
    return AnswerTableWaiters(*known, out);
  }
  if (tables_.size() >= kTablesMax) {
    return refuse(StatusCode::kResourceExhausted,
                  "the job has " + std::to_string(kTablesMax) + " tables, more are not allowed");
  }
  TableEntry table{.spec = message.spec,
                   .id = TableId(static_cast<uint32_t>(tables_.size() + 1)),
                   .missing = {},
                   .asked_at = now,
                   .failed = {},
                   .waiting = {{asker, request}}};
  for (const auto& [id, member] : nodes_) {
    if (member.member.role != Role::kServer) continue;
    table.missing.insert(id);
    SendInstallTable(member, table, out);
  }
  tables_.push_back(std::move(table));
}

// Once a table is opened a server that comes is given rows by the others.
void CoordinatorCore::SendInstallTable(const Node& server, const TableEntry& table, CoordinatorOutputs& out) {
  InstallTable order{.table = table.id, .spec = table.spec, .load = {}, .map_version = map_.version};
  if (!table.opened) order.load = options_.load;
  Send(server, std::move(order), out);
}

bool CoordinatorCore::Loads(const TableEntry& table) const {
  return options_.load.checkpoint != 0 && !table.opened && table.failed.ok();
}

// Meanwhile rows neither move nor are copied: not all are here yet.
bool CoordinatorCore::IsLoading() const {
  return std::ranges::any_of(tables_, [&](const TableEntry& table) { return Loads(table); });
}

void CoordinatorCore::AskOpenersToWait(MonotonicTime now, CoordinatorOutputs& out) {
  for (const TableEntry& table : tables_) {
    if (!Loads(table) || now - table.asked_at >= options_.load_timeout) continue;
    for (const auto& [asker, request] : table.waiting) {
      if (const Node* node = Find(asker)) Send(*node, StillWorking{.request = request}, out);
    }
  }
}

void CoordinatorCore::OnMessage(Node& node, const TableInstalled& message, MonotonicTime, CoordinatorOutputs& out) {
  const size_t index = size_t{message.table.value()} - 1;
  if (index >= tables_.size()) return;
  TableEntry& table = tables_[index];
  if (table.missing.erase(node.member.node) == 0) return;
  placement_.NoteChange();
  if (!message.status.ok()) {
    const Status problem = Annotate(message.status, Name(node.member.node));
    if (!table.opened && table.failed.ok()) table.failed = problem;
    if (table.opened) {  // a server that came later: it gets no rows
      table.missing.insert(node.member.node);
      out.events.push_back("table \"" + table.spec.name + "\": " + std::string(attune::Message(problem)));
      return;
    }
  }
  AnswerTableWaiters(table, out);
}

void CoordinatorCore::AnswerTableWaiters(TableEntry& table, CoordinatorOutputs& out) {
  if (!table.missing.empty() && table.failed.ok() && !table.opened) return;
  table.opened = table.failed.ok();
  for (const auto& [asker, request] : std::exchange(table.waiting, {})) {
    if (table.failed.ok()) {
      Reply(asker, request, TableOpened{.request = request, .table = table.id}, out);
    } else {
      Reply(asker, request, Refused{.request = request, .status = table.failed}, out);
    }
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
                                                             .steps = TotalSteps()},
                                                            evaluations_);
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
    UpdateCounted(nodes_.at(waiting.worker));
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
  data_sets_.Serve(now, end_.goal_reached(), evaluations_.any(), may_begin, answer);
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
  const NodeId id = server.member.node;
  for (const TableEntry& table : tables_) {
    if (table.missing.contains(id)) SendInstallTable(server, table, out);
  }
}

}  // namespace attune::ps
