// Next backups that are being made complete: which rows this node still has to copy to each, what is on its way to
// them, and which members have said that they have sent all. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class BackupJoins {
 public:
  using Id = std::pair<MapVersion, NodeId>;  // Shard::join_id, the next backup
  struct Join {
    std::deque<TableKey> to_install;
    size_t in_flight = 0;  // Installs without an answer
    bool marker_sent = false;
    std::vector<uint32_t> shards;
    std::set<NodeId> markers;  // at the next backup: members that have sent all
    bool done = false;
  };
  // An answer to an Install that a HandoverAck may wait for (WithheldAcks).
  struct Answer {
    std::optional<uint64_t> withheld;
  };

  bool empty() const { return joins_.empty(); }
  void Begin(Id id, std::vector<uint32_t> shards, const std::vector<TableKey>& rows) {
    Join& join = joins_[id];
    join.to_install.insert(join.to_install.end(), rows.begin(), rows.end());
    join.shards = std::move(shards);
  }
  // More rows for a join that has begun.
  void Add(Id id, const std::vector<TableKey>& rows) {
    Join& join = joins_.at(id);
    join.to_install.insert(join.to_install.end(), rows.begin(), rows.end());
  }
  // Shards for which `still(Id, uint32_t shard)` is false have no such next backup any more; joins without shards end.
  // Returns the Installs whose answers count no more.
  template <typename Still>
  std::vector<Answer> EndUnless(Still&& still) {
    for (auto it = joins_.begin(); it != joins_.end();) {
      std::erase_if(it->second.shards, [&](uint32_t shard) { return !still(it->first, shard); });
      it = it->second.shards.empty() ? joins_.erase(it) : std::next(it);
    }
    std::vector<Answer> ended;
    std::erase_if(installs_, [&](const auto& entry) {
      if (joins_.contains(entry.second.join)) return false;
      ended.push_back({.withheld = entry.second.withheld});
      return true;
    });
    return ended;
  }

  // Gives every next backup its rows while fewer than `in_flight_max` Installs to it are without an answer.
  // `rows_max(TableId)`: of one message. `send(Id, uint64_t install, TableId, const std::vector<Key>&)` returns whether
  // it has sent an Install of this number: it does not when none of the rows is here any more. `sent_all(Id)` is called
  // once for each.
  template <typename RowsMax, typename Send, typename SentAll>
  void Pump(size_t in_flight_max, RowsMax&& rows_max, Send&& send, SentAll&& sent_all) {
    for (auto& [id, join] : joins_) {
      while (!join.to_install.empty() && join.in_flight < in_flight_max) {
        const TableId table = join.to_install.front().table;
        const size_t count_max = rows_max(table);
        std::vector<Key> keys;
        while (!join.to_install.empty() && join.to_install.front().table == table && keys.size() < count_max) {
          keys.push_back(join.to_install.front().key);
          join.to_install.pop_front();
        }
        if (!send(id, next_install_, table, keys)) continue;
        Open(id, std::nullopt);
      }
      if (join.to_install.empty() && !std::exchange(join.marker_sent, true)) sent_all(id);
    }
  }
  // An Install of rows that have just come here; the join must have begun. Returns its number.
  uint64_t Open(Id id, std::optional<uint64_t> withheld) {
    installs_[next_install_] = {.join = id, .withheld = withheld};
    ++joins_[id].in_flight;
    return next_install_++;
  }
  // Nothing when there is no such Install, or when it went to another node.
  std::optional<Answer> Answered(uint64_t install, NodeId from) {
    const auto it = installs_.find(install);
    if (it == installs_.end() || it->second.join.second != from) return std::nullopt;
    const OpenInstall open = it->second;
    installs_.erase(it);
    if (const auto join = joins_.find(open.join); join != joins_.end()) --join->second.in_flight;
    return Answer{.withheld = open.withheld};
  }
  // A member has sent everything of `join_id` to `next_backup`. `of_any`: a deliberate mistake of the simulations.
  void MarkSent(NodeId from, MapVersion join_id, NodeId next_backup, bool of_any = false) {
    for (auto& [id, join] : joins_) {
      if (id.second == next_backup && (id.first == join_id || of_any)) join.markers.insert(from);
    }
  }
  // A node that is no member any more.
  void Forget(NodeId node) {
    for (auto& [id, join] : joins_) join.markers.erase(node);
  }
  // Marks those as done for which `is_done(Id, const Join&)` holds. Returns whether one was not before.
  template <typename IsDone>
  bool UpdateDone(IsDone&& is_done) {
    bool news = false;
    for (auto& [id, join] : joins_) {
      if (join.done || !is_done(id, join)) continue;
      join.done = news = true;
    }
    return news;
  }

  // Joins of which this node's part is done, for all their next backups.
  std::vector<MapVersion> Done() const {
    std::map<MapVersion, bool> all;
    for (const auto& [id, join] : joins_) {
      const auto [place, is_new] = all.try_emplace(id.first, true);
      place->second = place->second && join.done;
    }
    std::vector<MapVersion> done;
    for (const auto& [join_id, is_done] : all) {
      if (is_done) done.push_back(join_id);
    }
    return done;
  }
  size_t rows_to_install() const {
    size_t rows = 0;
    for (const auto& [id, join] : joins_) rows += join.to_install.size();
    return rows;
  }
  size_t open_installs() const { return installs_.size(); }

 private:
  struct OpenInstall {
    Id join;
    std::optional<uint64_t> withheld;
  };
  std::map<Id, Join> joins_;
  std::map<uint64_t, OpenInstall> installs_;
  uint64_t next_install_ = 1;
};

}  // namespace attune::ps
