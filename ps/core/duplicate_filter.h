// What makes every push count once: per origin the highest settled sequence number, and for the pushes above it which
// of their keys were decided here. The unit is (origin, sequence, key); since the keys of a push are unique and their
// places fixed, a key is named by its position.
//
// Memory: 8 bytes per origin, two bits per key of pushes in flight, nothing per row.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "ps/core/ids.h"
#include "ps/core/messages.h"

namespace attune::ps {

class DuplicateFilter {
 public:
  enum class Decision : uint8_t { kOpen, kApplied, kRefused };

  // All pushes of `origin` up to `acked_below` are settled; their records go. Returns true when that is news.
  bool MergeAckedBelow(NodeId origin, SequenceNumber acked_below);
  // The origin knows already: a late copy.
  bool Covered(NodeId origin, SequenceNumber sequence) const;
  SequenceNumber AckedBelow(NodeId origin) const;

  // True when a key of (origin, sequence) has been decided: only then each key has to be looked at.
  bool HasRecord(NodeId origin, SequenceNumber sequence) const;
  Decision Find(NodeId origin, SequenceNumber sequence, uint32_t position) const;
  void Record(NodeId origin, SequenceNumber sequence, const Positions& positions, Decision decision);

  // The origin has left for good.
  void Forget(NodeId origin);
  size_t records() const;

 private:
  struct PushRecord {
    uint32_t first_word = 0;        // bits below first_word * 64 are not stored
    std::vector<uint64_t> applied;  // bit per position
    std::vector<uint64_t> refused;  // empty, or as long as `applied`
  };
  struct Origin {
    SequenceNumber acked_below;
    std::map<SequenceNumber, PushRecord> records;
  };
  const PushRecord* FindRecord(NodeId origin, SequenceNumber sequence) const;

  std::unordered_map<NodeId, Origin> origins_;
};

}  // namespace attune::ps
