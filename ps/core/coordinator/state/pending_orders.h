// Commands that the coordinator has taken up and answers later. Each queue knows when one of its orders is done or
// late; the coordinator sends the answers. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/sync_mode.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_commands.h"
#include "ps/core/progress/clock_board.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

// Switches of the synchronization mode, one after the other: all workers are held before a common step, then the mode
// is announced from there on.
class SwitchOrders {
 public:
  struct Done {
    CommandResult result;
    std::string event;  // for the log; empty: nothing has happened
  };

  bool IsFull() const { return orders_.size() >= kCommandsMax; }
  void Add(CommandId id, SyncMode mode, MonotonicTime deadline) { orders_.push_back({id, mode, deadline}); }
  // Continues with the first one, until it is done or waits (nullopt). `may_begin`: the clocks are needed for nothing
  // else. `trusts_workers`: without their promises, a deliberate mistake.
  std::optional<Done> Continue(MonotonicTime now, ClockBoard& clocks, bool may_begin,
                               const std::function<std::string(NodeId)>& name, bool trusts_workers = false);
  std::vector<CommandId> AbandonAll();

 private:
  struct Order {
    CommandId id;
    SyncMode mode;
    MonotonicTime deadline;
    bool begun = false;
  };
  static Done Late(const Order& order, ClockBoard& clocks, const std::function<std::string(NodeId)>& name);

  std::deque<Order> orders_;  // the first is in progress
};

// Drains, and numbers of servers: what is asked for, whether shards lie as asked, and who waits for that.
class PlacementOrders {
 public:
  // What the servers of the job are at.
  struct Servers {
    uint32_t staying = 0;
    bool any_leaves = false;  // and is still here
    std::string apart;        // "; server 2 (node 5) has no connection to some members yet"
  };

  uint32_t servers_wanted() const { return servers_wanted_; }
  void Want(uint32_t servers) { servers_wanted_ = servers; }

  bool IsFull() const { return orders_.size() >= kCommandsMax; }
  void AddDrain(CommandId id, NodeId leaving, MonotonicTime deadline) { orders_.push_back({id, deadline, leaving}); }
  void AddCount(CommandId id, MonotonicTime deadline) { orders_.push_back({id, deadline, {}}); }
  // An order says how many servers there are to be.
  bool HasCount() const;
  // Those that are done, which the coordinator may only say while it leads (`acts`), or late. `is_here(node)`: a
  // member.
  std::vector<CommandResult> TakeAnswered(MonotonicTime now, bool acts, const Servers& servers,
                                          const std::function<bool(NodeId)>& is_here);
  std::vector<CommandId> AbandonAll();

  // --- shards

  // Something may have to be changed.
  void NoteChange() { changed_ = true; }
  // Whether it is to be looked at.
  bool TakeChange() { return std::exchange(changed_, false); }
  // There is a new map.
  void NotePublished() {
    changed_ = true;
    settled_ = false;
  }
  // So many shards do not lie where they are to lie.
  void NoteToChange(size_t shards) { shards_to_change_ = shards; }
  // False: they are being changed already.
  bool BeginMoving() { return !std::exchange(moving_, true); }
  size_t shards_to_change() const { return shards_to_change_; }
  // Nothing is to be changed now. `in_use`: every server that is to have shards has its own. True when shards were
  // moved.
  bool Settle(bool in_use) {
    settled_ = in_use;
    return std::exchange(moving_, false);
  }
  bool settled() const { return settled_; }

 private:
  struct Order {
    CommandId id;
    MonotonicTime deadline;
    NodeId leaving;  // 0: until nothing is left to change
  };

  std::vector<Order> orders_;
  uint32_t servers_wanted_ = 0;
  bool changed_ = false;
  bool settled_ = false;  // when it was looked at last
  bool moving_ = false;
  size_t shards_to_change_ = 0;
};

// Reports of the platform that a process is gone: answered when it has no part in the job any more. A coordinator that
// is lost itself takes the report along, so it is answered only when the coordinator has done what it can: the process
// is no member, and no voter, and every server, in which the next one may run, has the map that says so. The operator
// sends the next coordinator what the last one has not answered.
class GoneOrders {
 public:
  // A whole rack may be lost at once.
  bool IsFull() const { return orders_.size() >= kMembersMax; }
  void Add(CommandId id, const NodeGone& process, MonotonicTime deadline) {
    orders_.push_back({id, process, deadline, {}});
  }
  // Those that are done or late. `has_part(process)`: it is a member or a voter still; `is_known(map)`: to all servers.
  // While a coordinator takes over (`may_act` false) it has done nothing yet.
  std::vector<CommandResult> TakeAnswered(MonotonicTime now, MapVersion newest, bool may_act,
                                          const std::function<bool(const NodeGone&)>& has_part,
                                          const std::function<bool(MapVersion)>& is_known);
  std::vector<CommandId> AbandonAll();

 private:
  struct Order {
    CommandId id;
    NodeGone process;
    MonotonicTime deadline;
    MapVersion done_by;  // the map that says so; 0: not yet
  };

  std::vector<Order> orders_;
};

}  // namespace attune::ps
