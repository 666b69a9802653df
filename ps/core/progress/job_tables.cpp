#include "ps/core/progress/job_tables.h"

#include <algorithm>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

JobTables::Table* JobTables::FindEntry(const std::string& name) {
  const auto it =
      std::ranges::find_if(tables_, [&](const Table& table) { return table.failed.ok() && table.spec.name == name; });
  return it == tables_.end() ? nullptr : &*it;
}

const TableSpec* JobTables::Find(const std::string& name) const {
  const auto it =
      std::ranges::find_if(tables_, [&](const Table& table) { return table.failed.ok() && table.spec.name == name; });
  return it == tables_.end() ? nullptr : &it->spec;
}

bool JobTables::IsFull() const { return tables_.size() >= kTablesMax; }

TableId JobTables::Open(const TableSpec& spec, Waiter waiter, const std::set<NodeId>& servers, MonotonicTime now) {
  const TableId id = NextId();
  tables_.push_back({.spec = spec, .id = id, .missing = servers, .asked_at = now, .failed = {}, .waiting = {waiter}});
  return id;
}

std::vector<JobTables::Answer> JobTables::Wait(const std::string& name, Waiter waiter) {
  std::vector<Answer> answers;
  if (Table* table = FindEntry(name)) {
    table->waiting.push_back(waiter);
    AnswerWaiters(*table, answers);
  }
  return answers;
}

JobTables::Installed JobTables::OnInstalled(NodeId server, TableId id, const Status& problem) {
  const size_t index = size_t{id.value()} - 1;
  if (index >= tables_.size() || tables_[index].missing.erase(server) == 0) return {};
  Table& table = tables_[index];
  Installed installed{.changes = true};
  if (!problem.ok()) {
    if (table.opened) {  // a server that came later: it gets no rows
      table.missing.insert(server);
      installed.event = "table \"" + table.spec.name + "\": " + std::string(attune::Message(problem));
      return installed;
    }
    if (table.failed.ok()) table.failed = problem;
  }
  AnswerWaiters(table, installed.answers);
  return installed;
}

void JobTables::NoteJoined(NodeId server) {
  for (Table& table : tables_) table.missing.insert(server);
}

void JobTables::AnswerWaiters(Table& table, std::vector<Answer>& answers) {
  if (!table.missing.empty() && table.failed.ok() && !table.opened) return;
  table.opened = table.failed.ok();
  for (const Waiter& waiter : std::exchange(table.waiting, {})) {
    answers.push_back({.to = waiter, .table = table.id, .status = table.failed});
  }
}

std::vector<JobTables::Waiter> JobTables::StillWaiting(MonotonicTime now) const {
  std::vector<Waiter> waiters;
  for (const Table& table : tables_) {
    if (!Loads(table) || now - table.asked_at >= load_timeout_) continue;
    waiters.insert(waiters.end(), table.waiting.begin(), table.waiting.end());
  }
  return waiters;
}

// Once a table is opened a server that comes is given rows by the others.
InstallTable JobTables::OrderOf(const Table& table, MapVersion map) const {
  InstallTable order{.table = table.id, .spec = table.spec, .load = {}, .map_version = map};
  if (!table.opened) order.load = load_;
  return order;
}

std::vector<InstallTable> JobTables::OrdersFor(NodeId server, MapVersion map) const {
  std::vector<InstallTable> orders;
  for (const Table& table : tables_) {
    if (table.missing.contains(server)) orders.push_back(OrderOf(table, map));
  }
  return orders;
}

bool JobTables::HasAll(NodeId server) const {
  return std::ranges::none_of(tables_,
                              [&](const Table& table) { return table.failed.ok() && table.missing.contains(server); });
}

std::vector<NodeId> JobTables::ServersWithout() const {
  std::vector<NodeId> servers;
  for (const Table& table : tables_) {
    if (table.opened) servers.insert(servers.end(), table.missing.begin(), table.missing.end());
  }
  return servers;
}

bool JobTables::Loads(const Table& table) const { return load_.checkpoint != 0 && !table.opened && table.failed.ok(); }

bool JobTables::IsLoading() const {
  return std::ranges::any_of(tables_, [&](const Table& table) { return Loads(table); });
}

std::vector<TableSpec> JobTables::Specs() const {
  std::vector<TableSpec> specs;
  for (const Table& table : tables_) specs.push_back(table.spec);
  return specs;
}

std::vector<CoordinatorRecord::Table> JobTables::Records() const {
  std::vector<CoordinatorRecord::Table> records;
  for (const Table& table : tables_) {
    records.push_back({.spec = table.spec, .failed = !table.failed.ok(), .opened = table.opened});
  }
  return records;
}

void JobTables::Restore(const std::vector<CoordinatorRecord::Table>& records, const std::map<TableId, TableSpec>& found,
                        const std::set<NodeId>& servers, MonotonicTime now) {
  const auto add = [&](const TableSpec& spec, bool opened, const Status& failed) {
    tables_.push_back({.spec = spec,
                       .id = NextId(),
                       .missing = failed.ok() ? servers : std::set<NodeId>(),
                       .asked_at = now,
                       .failed = failed,
                       .waiting = {},
                       .opened = opened && failed.ok()});
  };
  const Status given_up = Error(StatusCode::kAborted, "the table was not opened under the coordinator before");
  for (const CoordinatorRecord::Table& table : records) {
    add(table.spec, table.opened, table.failed ? given_up : OkStatus());
  }
  for (const auto& [id, spec] : found) {
    if (id.value() > kTablesMax) continue;
    while (tables_.size() + 1 < id.value()) add({}, false, given_up);
    if (tables_.size() < id.value()) add(spec, false, OkStatus());
  }
}

void JobTables::SkipPause(Duration pause) {
  for (Table& table : tables_) table.asked_at = MovedBy(pause, table.asked_at);
}

}  // namespace attune::ps
