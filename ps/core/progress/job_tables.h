// The tables of a job: which servers have yet to install which, and which workers wait for that
// (docs/protocol.md#where-shards-lie). A table is open once all servers of that time have it and what a checkpoint has
// of it; a server that comes later must have it before it is given rows. A table that could not be opened keeps its
// number.
//
// Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/pause_watch.h"
#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class JobTables {
 public:
  struct Waiter {
    NodeId node;
    RequestId request;
  };
  // What a waiter is to hear.
  struct Answer {
    Waiter to;
    TableId table;
    Status status;
  };
  struct Installed {
    bool changes = false;  // the server had been asked
    std::string event{};   // for the log, or empty
    std::vector<Answer> answers{};
  };

  // `load`: the checkpoint that tables begin with, if that is one. Openers are asked to wait for so long meanwhile.
  JobTables(RestorePoint load, Duration load_timeout) : load_(std::move(load)), load_timeout_(load_timeout) {}

  // --- opening

  // One of this name that has not failed: such a one may be opened again.
  const TableSpec* Find(const std::string& name) const;
  bool IsFull() const;
  // A new one, which these servers have to install. Requires !IsFull().
  TableId Open(const TableSpec& spec, Waiter waiter, const std::set<NodeId>& servers, MonotonicTime now);
  // One more for a table that is known.
  std::vector<Answer> Wait(const std::string& name, Waiter waiter);
  // `problem`: why it could not, with the server's name; OK: it has.
  Installed OnInstalled(NodeId server, TableId table, const Status& problem);
  void NoteJoined(NodeId server);
  // A member is gone: openers may wait for it.
  void NoteGone() { any_gone_ = true; }
  // Servers that are not here (`is_here(server)`) are waited for no more.
  template <typename IsHere>
  std::vector<Answer> StopWaitingForTheGone(IsHere&& is_here) {
    std::vector<Answer> answers;
    if (!std::exchange(any_gone_, false)) return answers;
    for (Table& table : tables_) {
      std::erase_if(table.missing, [&](NodeId server) { return !is_here(server); });
      AnswerWaiters(table, answers);
    }
    return answers;
  }
  // Who is to be asked to wait on.
  std::vector<Waiter> StillWaiting(MonotonicTime now) const;

  // --- servers

  // What servers are asked about a table that Open() has returned.
  InstallTable OrderOf(TableId table, MapVersion map) const { return OrderOf(tables_[table.value() - 1], map); }
  // What the server has been asked to install and has not.
  std::vector<InstallTable> OrdersFor(NodeId server, MapVersion map) const;
  // It has all that have not failed.
  bool HasAll(NodeId server) const;
  // They have come since a table was opened, and could not serve its rows yet.
  std::vector<NodeId> ServersWithout() const;
  // Rows neither move nor are copied meanwhile: not all are here yet.
  bool IsLoading() const;

  // --- records

  std::vector<TableSpec> Specs() const;
  std::vector<CoordinatorRecord::Table> Records() const;
  // From the record of the coordinator before, and `found`, what servers have installed: they may have tables that no
  // opener was informed of, whose ids are taken. A table that was not open yet is loaded by those that have not
  // installed it.
  void Restore(const std::vector<CoordinatorRecord::Table>& records, const std::map<TableId, TableSpec>& found,
               const std::set<NodeId>& servers, MonotonicTime now);
  void SetLoad(RestorePoint load) { load_ = std::move(load); }
  // Time in which this process stood still.
  void SkipPause(Duration pause);

 private:
  struct Table {
    TableSpec spec;
    TableId id;
    std::set<NodeId> missing;  // servers that have not installed it
    MonotonicTime asked_at;
    Status failed;
    std::vector<Waiter> waiting;
    bool opened = false;
  };
  TableId NextId() const { return TableId(static_cast<uint32_t>(tables_.size() + 1)); }
  InstallTable OrderOf(const Table& table, MapVersion map) const;
  Table* FindEntry(const std::string& name);
  bool Loads(const Table& table) const;
  static void AnswerWaiters(Table& table, std::vector<Answer>& answers);

  RestorePoint load_;
  Duration load_timeout_;
  std::vector<Table> tables_;  // by TableId - 1
  bool any_gone_ = false;
};

}  // namespace attune::ps
