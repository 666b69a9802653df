// What makes every push count once: per origin the highest settled sequence number, and for the pushes above it which
// of their keys were decided for the rows and copies held here. The unit is (origin, sequence, key); since the keys of
// a push are unique and their places fixed, a key is found by its position. Records travel with rows (Collect, Add).
//
// Memory: 8 bytes per origin, about 12 per key of pushes in flight, nothing per row. A record costs as much wherever in
// its push it lies: bits are kept in pages, so that a few far positions, which anybody may send, take no more than near
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/store/filter_records.h"

namespace attune::ps {

class DuplicateFilter {
 public:
  enum class Decision : uint8_t { kOpen, kApplied, kRefused };
  // A node can own a row and hold an older copy of it: what each contains is recorded apart.
  enum class Held : uint8_t { kRow, kCopy };

  // All pushes of `origin` up to `acked_below` are settled; their records go. Returns true when that is news.
  bool MergeAckedBelow(NodeId origin, SequenceNumber acked_below);
  // The origin knows already: a late copy.
  bool Covered(NodeId origin, SequenceNumber sequence) const;
  SequenceNumber AckedBelow(NodeId origin) const;
  // Appends every acked_below learned since `generation` (0: ever) and raises `generation`.
  void NewsSince(uint64_t& generation, std::vector<Settled>& out) const;

  // True when a key of (origin, sequence) has been decided: only then each key has to be looked at.
  bool HasRecord(NodeId origin, SequenceNumber sequence, Held held = Held::kRow) const;
  Decision Find(NodeId origin, SequenceNumber sequence, uint32_t position, Held held = Held::kRow) const;
  // `keys` are those at `positions`, in that order. Pushes that are settled leave no record; a key that is decided
  // stays as it is.
  void Record(NodeId origin, SequenceNumber sequence, TableId table, const Positions& positions,
              std::span<const Key> keys, Decision decision, Held held = Held::kRow);

  // Appends the records of these keys (key_index: place in `keys`); with `take` they are forgotten here.
  void Collect(TableId table, std::span<const Key> keys, Held held, bool take, std::vector<FilterRecord>& out);
  void Add(TableId table, std::span<const Key> keys, std::span<const FilterRecord> records, Held held);
  // Everything known of rows: what is settled, and what is decided beyond that.
  void Copy(FilterRecords& out);
  // Forgets the records of keys for which `drop` is true.
  void DropIf(Held held, const std::function<bool(TableId, Key)>& drop);

  // Origins that have left for good.
  void ForgetIf(const std::function<bool(NodeId)>& gone);
  size_t records() const;

 private:
  struct Piece {
    uint32_t first = 0;               // position of keys[0], when `positions` is empty
    std::vector<uint32_t> positions;  // else of each key
    std::vector<Key> keys;
    uint32_t At(size_t i) const { return positions.empty() ? first + static_cast<uint32_t>(i) : positions[i]; }
  };
  static constexpr uint32_t kPagePositions = 512;
  struct Page {  // a bit per position, in at most one of the two
    std::array<uint64_t, kPagePositions / 64> applied{}, refused{};
  };
  struct PushRecord {
    TableId table;
    std::map<uint32_t, Page> pages;  // by position / kPagePositions
    std::vector<Piece> pieces;       // which key a bit belongs to; a key may be named whose bit is clear
    uint32_t decided = 0;            // bits set
    Decision At(uint32_t position) const;
    // Returns how many bits are new.
    uint32_t Decide(uint32_t first, uint32_t count, Decision decision);
  };
  struct Origin {
    SequenceNumber acked_below;
    uint64_t generation = 0;                                      // of acked_below
    std::array<std::map<SequenceNumber, PushRecord>, 2> records;  // by Held
  };
  const PushRecord* FindRecord(NodeId origin, SequenceNumber sequence, Held held) const;
  // Calls visit(origin, sequence, record, position, key, bits) for decided keys of `table` (0: of all).
  template <typename Visitor>
  void ForEachDecided(TableId table, Held held, Visitor&& visit);
  static void Clear(PushRecord& record, uint32_t position);

  std::map<NodeId, Origin> origins_;
  uint64_t generation_ = 0;
  KeyMap<uint32_t> places_;  // scratch
};

}  // namespace attune::ps
