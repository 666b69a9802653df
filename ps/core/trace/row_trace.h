// What happens to one row at this node while it is looked at (`attune explain JOB --row`), as the program's calls
// and the node's own messages say: what is sent, and what comes, when it comes, also where the core keeps it for
// later or refuses it. What repeats takes one line with its number, until the row changes hands or a copy of it comes
// or goes.
//
//   trace.Begin(row, now);
//   if (trace.active()) trace.Received(from, message, now);   // and so on
//   for (const std::string& line : trace.End(map)) ...
//
// Pure; externally synchronized. While no row is looked at it has no memory, and a caller that asks active() first pays
// one comparison a step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time_source.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"
#include "ps/core/trace/row_trace_event.h"

namespace attune::ps {

class RowTrace {
 public:
  static constexpr size_t kEventsMax = 200;  // with lines of at most 160 bytes they fit 32 KiB

  bool active() const { return row_.has_value(); }
  // In place of any row that was looked at before.
  void Begin(TableKey row, MonotonicTime now);
  // The lines, oldest first. `map`: for the names of nodes. Nothing is looked at afterwards.
  std::vector<std::string> End(const ShardMap& map);

  // --- calls of the program; those of other rows are passed over, as below

  // Steps [begin, end) are to touch these rows.
  void Announced(TableId table, std::span<const Key> keys, uint64_t begin, uint64_t end, MonotonicTime now);
  void Read(TableId table, std::span<const Key> keys, MonotonicTime now);
  void Pushed(TableId table, std::span<const Key> keys, MonotonicTime now);

  // --- messages

  void Received(NodeId from, const Message& message, MonotonicTime now);
  // `pulled`: by a pull of the program that is being handled, which asks for these rows now.
  struct Pulled {
    TableId table;
    std::span<const Key> keys;
  };
  void Sent(NodeId to, const Message& message, const Pulled& pulled, MonotonicTime now);
  void Sent(NodeId to, const Message& message, MonotonicTime now) { Sent(to, message, {}, now); }

 private:
  struct Entry {
    RowTraceEvent event;
    NodeId peer;
    MonotonicTime first{}, last{};
    uint32_t count = 1;
    uint64_t low = 0, high = 0;  // steps, or reads and writes
  };

  template <typename Keys>
  bool Concerns(TableId table, const Keys& keys) const {
    return row_ && row_->table == table && std::ranges::find(keys, row_->key) != keys.end();
  }
  void Note(RowTraceEvent event, NodeId peer, MonotonicTime now, uint64_t low = 0, uint64_t high = 0);

  void Heard(NodeId from, const Push& push, MonotonicTime now);
  void Heard(NodeId from, const Pull& pull, MonotonicTime now);
  void Heard(NodeId from, const PullReply& reply, MonotonicTime now);
  void Heard(NodeId from, const Round& round, MonotonicTime now);
  void Heard(NodeId from, const RoundReply& reply, MonotonicTime now);
  void Heard(NodeId from, const Replicate& copied, MonotonicTime now);
  void Heard(NodeId from, const Localize& wanted, MonotonicTime now);
  void Heard(NodeId from, const MoveOrder& order, MonotonicTime now);
  void Heard(NodeId from, const Handover& moved, MonotonicTime now);
  void Said(NodeId to, const Push& push, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const Pull& pull, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const Round& round, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const RoundReply& reply, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const Replicate& copied, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const Localize& wanted, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const MoveOrder& order, const Pulled& pulled, MonotonicTime now);
  void Said(NodeId to, const Handover& moved, const Pulled& pulled, MonotonicTime now);

  std::optional<TableKey> row_;
  MonotonicTime began_{};
  std::vector<Entry> entries_;
  size_t segment_ = 0;  // entries from here on may repeat
  uint64_t left_out_ = 0;
  std::map<RequestId, NodeId> asked_;  // pulls of the row that are not answered yet
  bool has_copy_ = false;              // of another node's row, as far as this trace has seen
};

}  // namespace attune::ps
