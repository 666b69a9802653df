// At the home of rows: which nodes have announced a row, and in which way each has it. By this the home decides
// (row_decision.h), and by this it knows who has copies to be kept up to date.
//
//   table.Announce(row, node, {.use = {.reads = 12, .writes = 12}, .until = until}, now);
//   table.Collect(row, now, interests);
//   DecideRow(interests, bytes, rules, costs);
//   table.Place(row, interests);
//   table.Changed(row, writer, [&](NodeId holder) { ... });  // whom to send it to
//
// An interest is a row and a node; it is there while the node has announced the row or has it somehow, and takes 36
// bytes. Pure; the order of what it visits follows from the calls alone. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time_source.h"
#include "ps/core/intent/row_decision.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/keys/row_chains.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class InterestTable {
 public:
  explicit InterestTable(size_t interests_max) : interests_max_(interests_max) {}

  struct Announcement {
    RowUse use;             // steps, counted up to 65,535
    MonotonicTime until{};  // the end of the last of them
  };
  // Takes the place of what the node had announced of the row. False: there is no room for one interest more.
  bool Announce(TableKey row, NodeId node, const Announcement& announced, MonotonicTime now);
  // It will use the row no more. What it has of it, it keeps until that is decided.
  void Withdraw(TableKey row, NodeId node);
  // It has no copy of the row, whatever was decided.
  void HasNone(TableKey row, NodeId node);

  // In a loop over rows, at the i-th: see KeyMap::PrefetchEntry.
  void PrefetchAhead(TableId table, std::span<const Key> keys, size_t i) const {
    if (i + kPrefetchDistance < keys.size()) interests_.PrefetchChain({table, keys[i + kPrefetchDistance]});
    constexpr size_t kHalf = kPrefetchDistance / 2;
    if (i + kHalf < keys.size()) interests_.PrefetchFirst({table, keys[i + kHalf]});
  }

  // The row has changed. visit(NodeId) for each node that has a copy and has been sent all earlier changes; not for
  // `except`, whose copy has the change.
  template <typename Visit>
  void Changed(TableKey row, NodeId except, Visit&& visit) {
    interests_.ForEach(row, [&](Interest& interest) {
      if (interest.place != RowPlace::kReplicated || interest.is_changed || interest.node == except) return;
      interest.is_changed = true;
      visit(interest.node);
    });
  }
  // The node is to be sent the row, of which it has a copy that is new.
  void Given(TableKey row, NodeId node) {
    if (Interest* const interest = Find(row, node)) interest->is_changed = true;
  }
  bool HasCopy(TableKey row, NodeId node) const {
    const Interest* const interest = Find(row, node);
    return interest != nullptr && interest->place == RowPlace::kReplicated;
  }
  // Whether its copy lacks changes. kSend: it is sent them now, which counts. kOfNoUse: it has been sent some since it
  // announced the row no more.
  enum class Refresh : uint8_t { kNothing, kSend, kOfNoUse };
  Refresh TakeRefresh(TableKey row, NodeId node);

  // visit(TableKey, NodeId) for about `count` interests, evenly spread over all. Returns for how many each stands.
  template <typename Visit>
  size_t Sample(size_t count, Visit&& visit) const {
    const size_t stride = std::max<size_t>(1, interests_.places() / count);
    for (size_t place = 0; place < interests_.places(); place += stride) {
      if (const Interest* const interest = interests_.InPlace(place)) {
        visit(TableKey{TableId(interest->table), interest->key}, interest->node);
      }
    }
    return stride;
  }

  // All interests in the row, and nothing else, in `interests`.
  void Collect(TableKey row, MonotonicTime now, std::vector<RowInterest>& interests) const;
  // Takes over their places. An interest that is neither announced nor has the row is forgotten.
  void Place(TableKey row, std::span<const RowInterest> interests);

  // Forgets all for which keep(TableKey, NodeId) is false, after forget(TableKey, NodeId). For nodes that have left the
  // map, and for shards that have another home.
  template <typename Keep, typename Forget>
  void Retain(Keep&& keep, Forget&& forget) {
    interests_.Remove([&](const Interest& interest) {
      const TableKey row{TableId(interest.table), interest.key};
      if (keep(row, interest.node)) return false;
      forget(row, interest.node);
      return true;
    });
  }

  void Clear() { interests_ = {}; }
  size_t size() const { return interests_.size(); }
  bool empty() const { return interests_.empty(); }
  size_t memory_bytes() const { return interests_.memory_bytes(); }

 private:
  struct Interest {
    Key key = 0;
    uint32_t table = 0;
    uint32_t next = 0;
    NodeId node;
    uint32_t until = 0;  // milliseconds of the clock, which may wrap
    uint16_t reads = 0;
    uint16_t writes = 0;
    RowPlace place = RowPlace::kLeft;
    uint8_t refreshes : 7 = 0;  // since it was announced, or announced no more
    bool is_changed : 1 = false;
    bool is_announced() const { return reads > 0 || writes > 0; }
  };
  static_assert(sizeof(Interest) == 32);
  static constexpr uint8_t kRefreshesCounted = 127;

  Interest* Find(TableKey row, NodeId node) const {
    return interests_.Find(row, [&](const Interest& interest) { return interest.node == node; });
  }

  const size_t interests_max_;
  RowChains<Interest> interests_;
};

}  // namespace attune::ps
