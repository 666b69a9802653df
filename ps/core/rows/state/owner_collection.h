// After a crash: what homes learn about who owns which rows of their shards, and what a node has to report to other
// homes (docs/protocol.md#a-crash). Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/core/rows/state/open_handovers.h"

namespace attune::ps {

// That a node owns a row by this move.
struct OwnerClaim {
  TableKey row;
  NodeId owner;
  uint16_t move_number;
};

// The claims, which are all of one table, in batches that fit a message each.
std::vector<DirectoryBatch> InBatches(TableId table, std::span<const OwnerClaim> claims);

// What the homes at this node are collecting. Of several reports of a row, the one of the latest move counts.
class OwnerCollection {
 public:
  // Whether one has begun and not ended.
  bool open() const { return open_; }
  void Begin();
  void End();
  // A member has to report.
  void Await(NodeId member) { missing_.insert(member); }
  // It is no member any more.
  void Forget(NodeId member) { missing_.erase(member); }
  // `last`: the member has reported all.
  void Add(NodeId from, const DirectoryBatch& entries, bool last);
  // What this node knows itself counts where no member has reported the row.
  void AddOwn(const OwnerClaim& claim);

  // How many members have not reported all.
  size_t missing() const { return missing_.size(); }
  bool Contains(TableKey row) const { return claims_.Contains(row); }
  // `visit(TableKey, const OwnerClaim&)`, in an order that follows from the calls alone.
  template <typename Visitor>
  void ForEach(Visitor&& visit) const {
    claims_.ForEach(visit);
  }

 private:
  bool open_ = false;
  std::set<NodeId> missing_;
  KeyMap<OwnerClaim> claims_;
};

// What a node reports: which homes have asked, and where rows have arrived that it sent before the recovery.
class OwnerReports {
 public:
  void Ask(NodeId home) { asked_by_.insert(home); }
  void Forget(NodeId home) { asked_by_.erase(home); }
  // Before every recovery.
  void Clear();
  // Homes for which `is_ready(NodeId home)` holds are answered now; each is returned once.
  template <typename IsReady>
  std::vector<NodeId> TakeReady(IsReady&& is_ready) {
    std::vector<NodeId> ready;
    std::erase_if(asked_by_, [&](NodeId home) {
      if (!is_ready(home)) return false;
      ready.push_back(home);
      return true;
    });
    return ready;
  }

  void AddArrived(const OpenHandover& handover);
  const std::vector<OwnerClaim>& claims() const { return claims_; }

 private:
  std::vector<OwnerClaim> claims_;
  std::set<NodeId> asked_by_;
};

}  // namespace attune::ps
