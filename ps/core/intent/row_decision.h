// How each node should have a row that several nodes have announced: left at its home and asked for there, as a copy
// of its own (a replica), or moved to it. The home of the row decides, by what the nodes' programs are about to do with
// it, and by what that costs in processor time on both sides (decision 0070). In the time T for which a node has
// announced a row, with its own r reads and w writes, R and X of all other nodes, V and S bytes of values and of
// optimizer state, and its own k, b and f (access_costs.h):
//
//   left         (r + w) remote                                             remote = k + bV
//   replicated   (flushes(w) + flushes(X)) copy   and copy once             copy = k + b(V + S)
//   owned        flushes(w + X) copy + 2 (R + X) remote   and copy once, and half of that for the way back
//
// left, a read that follows a push of the same node within reach waits besides (AccessCosts::seconds_per_wait): the row
// cannot have been fetched ahead.
//
// flushes(n) = fT (1 - e^(-n / fT)): of at most f flushes a second, those that have one of n writes to send.
//
// A node's place changes only if that saves a fifth. A copy that is announced no more is kept until its refreshes
// have cost what fetching it again would (ski rental: at most twice the cost of the best choice in hindsight).
//
// Pure functions of values.
#pragma once

#include <cstdint>
#include <span>

#include "ps/core/intent/access_costs.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

enum class RowPlace : uint8_t { kLeft, kReplicated, kOwned };

// Steps that read a row, and steps that write to it.
struct RowUse {
  double reads = 0;
  double writes = 0;
  bool empty() const { return reads == 0 && writes == 0; }
};

// What one node has announced of a row, and how it has it.
struct RowInterest {
  NodeId node;
  RowUse use;          // none: announced no more
  double seconds = 0;  // T, from now to the end of the last announced step
  RowPlace place = RowPlace::kLeft;
  uint32_t refreshes_since_use = 0;  // of its copy
};

struct RowRules {
  bool may_replicate = true;  // the program permits reads of copies (replica_age_max above zero)
  bool may_own = true;        // a row leaves its home only to one that may own rows
};

// What having the row in each way costs one node until what it has announced ends, with what it costs to get there.
struct RowCosts {
  double left = 0;
  double replicated = 0;
  double owned = 0;
  double Of(RowPlace place) const {
    return place == RowPlace::kLeft ? left : place == RowPlace::kReplicated ? replicated : owned;
  }
};
// `elsewhere`: of all other nodes, per second.
RowCosts CostsOf(const RowInterest& interest, RowUse elsewhere, RowBytes row, const AccessCosts& costs);

// The same for one of `interests`, which are all in its row: elsewhere are the others.
RowCosts CostsAmong(std::span<const RowInterest> interests, const RowInterest& one, RowBytes row,
                    const NodeCosts& costs);

// Sets the place of each node that has announced the row or has it in some way. At most one owns it; while one does,
// no node has a replica.
void DecideRow(std::span<RowInterest> interests, RowBytes row, RowRules rules, const NodeCosts& costs);

}  // namespace attune::ps
