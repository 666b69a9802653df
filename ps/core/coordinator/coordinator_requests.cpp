// What workers ask of the coordinator: tables and data leases.
#include <algorithm>
#include <sstream>
#include <utility>

#include "ps/core/coordinator/coordinator_core.h"
#include "ps/core/protocol/limits.h"
#include "ps/store/formulas/table_options.h"

namespace attune::ps {
namespace {

MonotonicTime DeadlineAfter(Duration remaining, MonotonicTime now) {
  return remaining < kNever - now ? now + remaining : kNever;
}

// A data set with epochs of its own (evaluation, export) is not training: the goal neither limits nor ends it.
bool FollowsGoal(const DataSetOptions& options) { return options.epochs == 0 && !options.when_due; }

// "dim is 32 here and 64 there, ...": every difference, empty when there is none.
class Differences {
 public:
  void Compare(const char* field, const std::string& here, const std::string& there) {
    if (here == there) return;
    if (!text_.empty()) text_ += ", ";
    text_ += std::string(field) + " is " + here + " here and was " + there + " when it was opened first";
  }
  void Compare(const char* field, uint64_t here, uint64_t there) {
    Compare(field, std::to_string(here), std::to_string(there));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

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

std::string Difference(const DataSetOptions& here, const DataSetOptions& there) {
  Differences differences;
  differences.Compare("items", here.items, there.items);
  differences.Compare("epochs", here.epochs, there.epochs);
  differences.Compare("lease_items", here.lease_items, there.lease_items);
  differences.Compare("when_due", here.when_due ? "true" : "false", there.when_due ? "true" : "false");
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
  placement_changed_ = true;
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

StatusOr<DataSetOptions> CoordinatorCore::Resolve(const OpenDataSet& message) const {
  if (message.name.empty() || message.name.size() > kNameBytesMax) {
    return Error(StatusCode::kInvalidArgument,
                 "a data set's name has 1 to " + std::to_string(kNameBytesMax) + " bytes");
  }
  DataSetOptions resolved = message.options;
  if (resolved.when_due && resolved.epochs > 0) {
    return Error(StatusCode::kInvalidArgument,
                 "data set \"" + message.name +
                     "\" is evaluated when that is due, so it has no epochs of its own; leave "
                     "DataSetOptions::epochs at 0, or when_due at false");
  }
  if (resolved.when_due && resolved.items == 0) resolved.items = 1;
  if (resolved.items == 0) resolved.items = options_.items;
  if (resolved.items == 0) {
    return Error(StatusCode::kInvalidArgument,
                 "the number of items is given neither by the worker (DataSetOptions::items) nor by the manifest "
                 "(spec.data.items)");
  }
  if (FollowsGoal(message.options)) {
    const JobGoal& goal = options_.goal;
    resolved.epochs = goal.epochs.value_or(goal.limits_training() ? 0 : 1);  // 0: until another goal is reached
  }
  if (resolved.lease_items == 0) resolved.lease_items = options_.lease_items;
  constexpr uint64_t kLeasesPerEpoch = 256;  // enough to balance tens of workers, few enough to cost nothing
  if (resolved.lease_items == 0) resolved.lease_items = std::max<uint64_t>(1, resolved.items / kLeasesPerEpoch);
  resolved.lease_items = std::max(resolved.lease_items, resolved.items / kLeasesPerEpochMax);
  return resolved;
}

const CutRecord::DataSet* CoordinatorCore::FindRecord(const std::string& name) const {
  if (!options_.resume) return nullptr;
  const auto it = std::ranges::find(options_.resume->data_sets, name, &CutRecord::DataSet::name);
  return it == options_.resume->data_sets.end() ? nullptr : &*it;
}

namespace {

Status CheckRecord(const CutRecord::DataSet& record, const DataSetOptions& asked) {
  if (record.items != asked.items) {
    return Error(StatusCode::kFailedPrecondition,
                 "data set \"" + record.name + "\" has " + std::to_string(asked.items) + " items here and had " +
                     std::to_string(record.items) + " in the checkpoint; resume with the same data");
  }
  return Validate(record);
}

}  // namespace

void CoordinatorCore::OnMessage(Node& node, const OpenDataSet& message, MonotonicTime, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  const auto reply = [&](Message answer) { Reply(node.member.node, request, std::move(answer), out); };
  StatusOr<DataSetOptions> resolved = Resolve(message);
  if (!resolved.ok()) return reply(Refused{.request = request, .status = resolved.status()});
  auto known = std::ranges::find(data_sets_, message.name, &DataSet::name);
  if (known == data_sets_.end()) {
    if (data_sets_.size() >= kDataSetsMax) {
      return reply(Refused{.request = request,
                           .status = Error(StatusCode::kResourceExhausted,
                                           "the job has " + std::to_string(kDataSetsMax) + " data sets")});
    }
    LeaseLedger ledger(resolved->items, resolved->epochs, resolved->lease_items, &next_lease_);
    if (const CutRecord::DataSet* record = FindRecord(message.name)) {
      if (const Status status = CheckRecord(*record, *resolved); !status.ok()) {
        return reply(Refused{.request = request, .status = status});
      }
      ledger = LeaseLedger(*record, options_.resume->synchronization != "async", resolved->epochs,
                           resolved->lease_items, &next_lease_);
      out.events.push_back("data set \"" + message.name + "\" continues after " + std::to_string(ledger.items_done()) +
                           " items of the checkpoint");
    } else if (resolved->when_due) {  // what was due before it was asked for is not made up for
      CutRecord::DataSet before{.name = message.name, .items = resolved->items, .lease_items = resolved->lease_items};
      before.finished_epochs = evaluations_.state().due;
      ledger = LeaseLedger(before, true, resolved->epochs, resolved->lease_items, &next_lease_);
    }
    if (resolved->when_due) {
      const MetricPlace place = PlaceNow();
      evaluations_.Resume(ledger.epochs_begun(), place.epoch, place.step);
      ledger.BeginUpTo(evaluations_.state().due);
    }
    data_sets_.push_back({.id = DataSetId(static_cast<uint32_t>(data_sets_.size() + 1)),
                          .name = message.name,
                          .asked = *resolved,
                          .follows_goal = FollowsGoal(message.options),
                          .when_due = resolved->when_due,
                          .items_in_newest = ledger.items_done(),
                          .ledger = std::move(ledger)});
    known = std::prev(data_sets_.end());
    if (!current_data_set_ && !known->when_due) current_data_set_ = known->id;
  } else if (const std::string difference = Difference(*resolved, known->asked); !difference.empty()) {
    return reply(
        Refused{.request = request,
                .status = Error(StatusCode::kFailedPrecondition, difference + "; all workers must say the same")});
  }
  reply(DataSetOpened{.request = request, .data_set = known->id, .options = known->asked});
}

void CoordinatorCore::OnMessage(Node& node, const LeaseRequest& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  const RequestId request = message.header.request;
  const DataSet* data_set = Find(message.data_set);
  Status problem;
  if (data_set == nullptr) {
    problem = Error(StatusCode::kNotFound, "there is no data set " + std::to_string(message.data_set.value()));
  } else {
    const auto held = std::ranges::count_if(data_set->ledger.leases(),
                                            [&](const auto& entry) { return entry.second.worker == node.member.node; });
    if (static_cast<size_t>(held) >= kLeasesPerWorkerMax) {
      problem = Error(StatusCode::kResourceExhausted,
                      "this worker holds " + std::to_string(held) + " leases; end some before taking more");
    }
  }
  if (!problem.ok()) {
    return Reply(node.member.node, request, Refused{.request = request, .status = std::move(problem)}, out);
  }
  NoteClosing(*Find(message.data_set));
  node.uses_leases = node.uses_leases || IsTraining(*data_set);
  UpdateCounted(node);
  waiting_leases_.push_back({.worker = node.member.node,
                             .request = request,
                             .data_set = message.data_set,
                             .deadline = DeadlineAfter(message.header.remaining, now)});
  ServeLeases(now, out);
}

// Closing work sees the trained model: it waits until no worker holds a lease of the data the goal has ended.
bool CoordinatorCore::TrainingIsEnding(const DataSet& asked) const {
  return !asked.follows_goal && !goal_reached_.empty() && std::ranges::any_of(data_sets_, [](const DataSet& data_set) {
    return data_set.follows_goal && !data_set.ledger.leases().empty();
  });
}

// First come, first served, as far as there is something free.
void CoordinatorCore::ServeLeases(MonotonicTime now, CoordinatorOutputs& out) {
  std::erase_if(waiting_leases_, [&](const WaitingLease& waiting) {
    DataSet& data_set = *Find(waiting.data_set);
    Message answer;
    // While a hold is in progress no worker begins that has not promised to stop.
    const bool may_begin = !clocks_.holding() || clocks_.IsCounted(waiting.worker) || !IsTraining(data_set);
    if (data_set.ledger.AllDone() || (data_set.when_due && !evaluations_.any())) {
      answer = LeasesEnded{.request = waiting.request, .reason = LeasesEndReason::kAllDone};
    } else if (!goal_reached_.empty() && (data_set.follows_goal || data_set.when_due)) {
      answer = LeasesEnded{.request = waiting.request, .reason = LeasesEndReason::kGoalReached};
    } else if (const std::optional<Lease> lease =
                   TrainingIsEnding(data_set) || !may_begin ? std::nullopt : data_set.ledger.Grant(waiting.worker)) {
      UpdateCounted(nodes_.at(waiting.worker));
      if (data_set.follows_goal) current_data_set_ = data_set.id;
      answer = LeaseGrant{.request = waiting.request,
                          .lease = lease->id,
                          .data_set = data_set.id,
                          .epoch = lease->epoch,
                          .begin = lease->begin,
                          .end = lease->end,
                          .floor = clocks_.floor()};
    } else if (waiting.deadline <= now) {
      answer = Refused{
          .request = waiting.request,
          .status = Error(StatusCode::kDeadlineExceeded, "all remaining items are with other workers; ask again")};
    } else {
      return false;
    }
    Reply(waiting.worker, waiting.request, std::move(answer), out);
    return true;
  });
}

void CoordinatorCore::OnMessage(Node& node, const LeaseDone& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  for (DataSet& data_set : data_sets_) (void)data_set.ledger.Done(node.member.node, message.lease);  // one knows it
  UpdateCounted(node);
  Reply(node.member.node, message.header.request, Done{.request = message.header.request}, out);
  ServeLeases(now, out);
  CheckGoals(now, out);
}

void CoordinatorCore::OnMessage(Node& node, const LeaseReturn& message, MonotonicTime now, CoordinatorOutputs& out) {
  if (!TakeUp(node, message.header, out)) return;
  for (DataSet& data_set : data_sets_) {
    (void)data_set.ledger.Return(node.member.node, message.lease, message.position);  // one knows it
  }
  UpdateCounted(node);
  Reply(node.member.node, message.header.request, Done{.request = message.header.request}, out);
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
