// Who a node of rows is, the map that it works under, and how its parts send: what all parts of a RowNode share. Owned
// by the RowNode. Externally synchronized.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/rows/context/row_io.h"

namespace attune::ps {

class RowContext {
 public:
  explicit RowContext(RowOptions options) : options_(std::move(options)) {}
  RowContext(const RowContext&) = delete;
  RowContext& operator=(const RowContext&) = delete;

  const RowOptions& options() const { return options_; }
  [[gnu::always_inline]] bool Mutant(RowMutation mutation) const { return options_.mutation == mutation; }
  // Before anything else.
  void SetSelf(NodeId self) { self_ = self; }
  NodeId self() const { return self_; }
  RowCounters& counters() { return counters_; }
  const RowCounters& counters() const { return counters_; }

  // The map from now on; it must be newer. Returns the one before.
  ShardMap Adopt(ShardMap next);
  const ShardMap& map() const { return map_; }
  bool IsMember(NodeId node) const { return map_.Contains(node); }
  uint32_t ShardOf(Key key) const { return ShardMap::ShardIndex(key, map_.shard_count()); }
  const Shard& ShardAt(Key key) const { return map_.shards[ShardOf(key)]; }

  // Under the current map. What nodes would get that are not members is dropped. Answers to operations that this node
  // began leave with the outputs; everything else to itself waits until the caller takes it.
  void Send(NodeId to, Message message, RowOutputs& out);
  // The oldest message to itself; nothing when there is none.
  std::optional<Message> TakeOwn();

  // A message that no honest node sends.
  void Reject(NodeId from, const char* kind, const std::string& why, RowOutputs& out);
  // With an error the node cannot continue. The first one counts.
  static void Lose(Status status, RowOutputs& out);

 private:
  const RowOptions options_;
  NodeId self_;
  ShardMap map_;
  RowCounters counters_;
  std::deque<Message> to_self_;
};

}  // namespace attune::ps
