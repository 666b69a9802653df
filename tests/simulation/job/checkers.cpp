// What must be true of the job, seen from outside.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/simulation/job/simulation.h"

namespace attune::ps::simulation {

void JobSimulation::CheckPull(Worker& worker, const PullCheck& pull) {
  Account& account = accounts_[pull.table.value()];
  for (size_t i = 0; i < pull.keys.size(); ++i) {
    const Key key = pull.keys[i];
    for (uint32_t column = 0; column < kColumns; ++column) {
      const double value = pull.rows[i * kColumns + column];
      const auto text = [&](const char* what, double bound) {
        std::ostringstream out;
        out << what << ": " << Name(WorkerPlace(worker.process)) << " reads " << value << " of key " << key
            << " column " << column << " of table " << pull.table << ", bound " << bound;
        return out.str();
      };
      if (value < 0) Violation(text("WholeRows: a value was never written", 0));
      if (column == worker.column() && value < pull.own_before.at(key)) {
        Violation(text("OwnPushes: an own push is missing", pull.own_before.at(key)));
      }
      if (value > account.issued[{key, column}]) {
        Violation(text("AtMostOnce: more than was ever pushed", account.issued[{key, column}]));
      }
      const double before = pull.seen_before.at({key, column});
      // After a crash a row continues from its copy: others' pushes that were acknowledged to no worker come once more.
      const bool may_fall = (any_server_died_ || any_owner_died_) && column != worker.column();
      if (value < before && !may_fall) Violation(text("VersionsRise: less than was seen before", before));
      const auto needed = [&](const auto& bounds) {
        const auto bound = bounds.find({key, column});
        return bound == bounds.end() ? 0 : bound->second;
      };
      if (value < needed(pull.needed_by_pace) && !may_fall) {
        Violation(text("FloorKept: a push of a step that the pace waits for is missing", needed(pull.needed_by_pace)));
      }
      if (value < needed(pull.needed_by_age) && !may_fall) {
        Violation(text("AgeKept: less than there was so long ago", needed(pull.needed_by_age)));
      }
      double& seen = worker.seen[pull.table.value()][{key, column}];
      seen = std::max(seen, value);
    }
  }
}

// OneOwner and StateTravels, over all members. A removed node that does not know it yet may still hold rows.
void JobSimulation::CheckOwners() {
  const ShardMap* map = NewestMap();
  if (map == nullptr) return;
  std::map<std::pair<uint32_t, Key>, Place> holder;
  const auto look = [&](Place place, const RowNode& rows) {
    if (!Runs(place) || !map->Contains(NodeAt(place))) return;
    for (uint32_t table = 1; table <= kTables; ++table) {
      const auto& tables = rows.tables();
      if (tables.size() < table || tables[table - 1] == nullptr) continue;
      for (const auto& [key, row] : static_cast<const CountingStore&>(*tables[table - 1]).rows()) {
        const auto [it, is_new] = holder.try_emplace({table, key}, place);
        if (!is_new) {
          Violation("OneOwner: " + Name(it->second) + " and " + Name(place) + " hold key " + std::to_string(key) +
                    " of table " + std::to_string(table));
        }
        if (row.values != row.state) {
          Violation("StateTravels: key " + std::to_string(key) + " of table " + std::to_string(table) +
                    " has lost optimizer state at " + Name(place));
        }
      }
    }
  };
  for (size_t i = 0; i < servers_.size(); ++i) look(ServerPlace(i), servers_[i]->core->rows());
  for (size_t i = 0; i < workers_.size(); ++i) look(WorkerPlace(i), workers_[i]->core->rows().own().rows());
}

void JobSimulation::CheckManifest(const CheckpointCommit& order) {
  const bool newest =
      order.checkpoint == checkpoints_ || parameters_.handovers > 0;  // the next one may have begun another
  if (!newest || order.checkpoint > checkpoints_)
    Violation("SaveComplete: a manifest was ordered with another's number");
  std::set<std::string> names;
  const std::string prefix = std::to_string(order.checkpoint) + "-";
  for (const CutFile& file : order.files) {
    if (!file.name.starts_with(prefix)) Violation("SaveComplete: a checkpoint has a file of another");
    names.insert(file.name);
  }
  const bool others = any_server_died_ || resumed_ || parameters_.scalings > 0;  // their parts may be fewer or more
  if (names.size() != order.files.size() || (!others && names.size() != parameters_.servers)) {
    Violation("SaveComplete: a manifest was ordered with files of some servers missing");
  }
}

// Others continue without it, and what it was at is done again.
bool JobSimulation::Failed(size_t worker, const ShardMap& map) const {
  const Worker& one = *workers_[worker];
  if (one.fate == Fate::kLeft) return false;
  return one.fate != Fate::kRunning || !map.Contains(one.core->node());
}

// CutExact: the rows hold the pushes of exactly those items that the record calls done. Under Async those of open
// leases may be there, too; those of workers that were lost may always.
void JobSimulation::CheckCut(const Checkpoint& checkpoint, const ShardMap& map) {
  const CutRecord& record = checkpoint.record;
  const bool exact = record.synchronization != "async";
  RowSums least[kTables + 1], most[kTables + 1];
  for (uint32_t table = 1; table <= kTables && resumed_; ++table) {
    for (const auto& [place, sum] : loaded_[table]) least[table][place] = most[table][place] = sum;
  }
  for (const PushRecord& push : pushes_) {
    const uint32_t column = workers_[push.worker]->column();
    const bool done = Contains(record, push.epoch, push.item);
    for (const auto& [key, sum] : push.added) {
      if (done && !Failed(push.worker, map)) least[push.table][{key, column}] += sum;
      if (done || !exact || Failed(push.worker, map)) most[push.table][{key, column}] += sum;
    }
  }
  for (uint32_t table = 1; table <= kTables; ++table) {
    for (const auto& [place, high] : most[table]) {
      const auto row = checkpoint.rows.find({table, place.first});
      const double value = row == checkpoint.rows.end() ? 0 : row->second.values[place.second];
      const double low = least[table][place];
      if (value >= low && value <= high) continue;
      std::ostringstream text;
      text << "CutExact: key " << place.first << " column " << place.second << " of table " << table << " is " << value
           << " in the checkpoint at step " << record.clock << " (" << record.synchronization << "), must be " << low
           << " to " << high;
      Violation(text.str());
    }
  }
}

void JobSimulation::CheckEnd() {
  if (finisher_ == nullptr && !Leads()) return Violation("EveryCallEnds: no coordinator leads the job");
  const Leader* const last = finisher_ == nullptr ? leader_ : finisher_;
  const JobProgress progress = last->core->progress();
  for (const auto& server : servers_) {
    Count("replicated", server->core->rows().counters().replicated_keys);
    Count("duplicate pushes", server->core->rows().counters().duplicate_pushes);
    Count("parked pulls", server->core->rows().counters().parked_pulls);
    Count("rows moved", server->core->rows().counters().rows_received);
  }
  if (violated()) return;
  if (!finished_) {
    return Violation("EveryCallEnds: the job did not finish: " + std::to_string(progress.items_done) + " of " +
                     std::to_string(progress.items_total) + " items done, " + std::to_string(RunningWorkers()) +
                     " workers running, floor held by \"" + progress.floor_holder + "\"");
  }
  items_.CheckEnd(parameters_.epochs, parameters_.items, progress, any_failure_);
  CheckOwners();
  CheckSums();
  CheckReturnedRows();
  CheckClosingIsDoneOnce();
  for (const auto& server : servers_) {  // one that others continued without may not have learned it, cut off from them
    const bool counts = server->fate == Fate::kRunning && last->core->map().Contains(server->core->node());
    if (counts && server->core->rows().parked() > 0) {
      Violation("AtRest: a pull is still parked at a server");
    }
  }
  for (const auto& worker : workers_) {
    if (worker->fate == Fate::kLeft && !worker->calls.empty()) {
      Violation(std::string("EveryCallEnds: ") + worker->calls.begin()->second.what + " never ended");
    }
  }
}

// When the job ended before a server that died was missed, or before its rows were recovered, they are with their
// backups, with a new home that still has them as copies, or with a next backup, which may have some of them.
void JobSimulation::SumRows(RowSums (&sums)[kTables + 1]) const {
  const ShardMap& map = *NewestMap();
  std::set<NodeId> missed;  // servers that the map still has and that do not run
  for (const Member& member : map.members) {
    if (member.role == Role::kServer) missed.insert(member.node);
  }
  std::vector<const ServerCore*> alive;
  for (const auto& server : servers_) {
    if (server->fate != Fate::kRunning || !map.Contains(server->core->node())) continue;
    alive.push_back(server->core.get());
    missed.erase(server->core->node());
  }
  for (uint32_t table = 1; table <= kTables; ++table) {
    const auto visit = [&](const std::vector<std::unique_ptr<TableStore>>& tables, const auto& look) {
      if (tables.size() >= table && tables[table - 1] != nullptr) tables[table - 1]->ForEachRow(look);
    };
    const auto add = [&](Key key, std::span<const float> values) {
      for (uint32_t column = 0; column < kColumns; ++column) sums[table][{key, column}] += values[column];
    };
    std::set<Key> owned;
    for (const ServerCore* server : alive) {
      visit(server->rows().tables(), [&](const RowView& row) {
        owned.insert(row.key);
        add(row.key, row.values);
      });
    }
    std::map<Key, std::pair<int, std::vector<float>>> copies;  // the best of each row that none owns
    for (const ServerCore* server : alive) {
      const bool recovers = server->rows().Report().shards_not_ready > 0;
      visit(server->rows().copies(), [&](const RowView& row) {
        const Shard& shard = map.At(map.ShardOf(row.key));
        if (owned.contains(row.key) || (missed.empty() && !(recovers && shard.home == server->node()))) return;
        const int rank = shard.backup == server->node() ? 0 : shard.home == server->node() ? 1 : 2;
        const auto [copy, is_first] = copies.try_emplace(row.key, rank, std::vector<float>());
        if (is_first || rank < copy->second.first) {
          copy->second = {rank, {row.values.begin(), row.values.end()}};
        }
      });
    }
    for (const auto& [key, copy] : copies) add(key, copy.second);
  }
}

// SumOfPushes: rows = what workers that left cleanly have pushed, plus what dead ones may have got through.
void JobSimulation::CheckSums() {
  RowSums rows[kTables + 1];
  SumRows(rows);
  for (uint32_t table = 1; table <= kTables; ++table) {
    for (const auto& [place, issued] : accounts_[table].issued) {
      const double value = rows[table][place];
      const double sure = accounts_[table].sure[place];
      if (value >= sure && value <= issued) continue;
      std::ostringstream text;
      text << "SumOfPushes: key " << place.first << " column " << place.second << " of table " << table << " is "
           << value << ", must be " << sure << " to " << issued;
      Violation(text.str());
    }
  }
  constexpr uint32_t kItemsTable = 2;  // what counts as done is in the rows
  for (uint64_t item = 0; item < parameters_.items; ++item) {
    double runs = 0;
    for (uint32_t column = 0; column < kColumns; ++column) runs += rows[kItemsTable][{item, column}];
    if (runs < static_cast<double>(parameters_.epochs)) {
      Violation("EveryItem: item " + std::to_string(item) + " is done but its pushes are not in the rows");
    }
  }
}

}  // namespace attune::ps::simulation
