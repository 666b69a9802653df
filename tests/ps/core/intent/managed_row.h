// A row as several nodes use it over time, and what ways of managing it cost: the home's decision (row_decision.h),
// simple rules, and the best that could have been done by who had known everything. Costs are those of decision 0070,
// paid where they fall: time passes in slots, each the time between two flushes, so a copy that was written in a slot
// is flushed once, and one that others have written is refreshed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/intent/row_decision.h"

namespace attune::ps {

struct SlotUse {
  uint32_t slot = 0;
  uint32_t node = 0;    // from 0
  uint32_t reads = 0;   // steps
  uint32_t writes = 0;  // steps
  uint32_t touches() const { return reads > writes ? reads : writes; }
};
// By slot; each (slot, node) once.
using UseTrace = std::vector<SlotUse>;

struct ManagedJob {
  uint32_t nodes = 2;
  uint32_t look_ahead = 8;  // slots, this one included
  RowBytes row{.values = 256, .state = 256};
  double slot_seconds = 0.01;
  // What is written to a row that a node owns goes to another one as well, so that it survives its owner.
  bool is_guarded = true;
  double remote() const { return AccessCosts{}.Remote(row); }
  double copy() const { return AccessCosts{}.Copy(row); }
};

// Who has the row besides its home, of whom one at most owns it.
struct RowHolders {
  static constexpr uint32_t kHome = ~uint32_t{0};
  uint32_t owner = kHome;
  std::vector<bool> replicas;  // by node
};

// What a node has announced of the row within the look-ahead, and what has come of its copy.
struct NodeView {
  RowUse use;
  uint32_t touches = 0;
  uint32_t until = 0;  // the slot after the last announced use
  uint32_t refreshes_since_use = 0;
};

// Decides at the beginning of a slot.
using ManagementRule = void (*)(const ManagedJob& job, std::span<const NodeView> nodes, uint32_t slot, RowHolders& row);

void LeaveAlone(const ManagedJob&, std::span<const NodeView>, uint32_t, RowHolders&);
void ReplicateAnnounced(const ManagedJob&, std::span<const NodeView>, uint32_t, RowHolders&);
void MoveAnnounced(const ManagedJob&, std::span<const NodeView>, uint32_t, RowHolders&);
// AdaPM's: a row that one node alone has announced is moved there, one of several is copied.
void MoveOrReplicate(const ManagedJob&, std::span<const NodeView>, uint32_t, RowHolders&);
// DecideRow.
void DecideByCost(const ManagedJob&, std::span<const NodeView>, uint32_t, RowHolders&);

double CostOf(const ManagedJob& job, const UseTrace& trace, ManagementRule rule);
// By dynamic programming over owner and replicas; at most 4 nodes.
double LeastCost(const ManagedJob& job, const UseTrace& trace);

}  // namespace attune::ps
