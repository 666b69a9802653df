#include "ps/core/rows/state/duplicate_filter.h"

#include <algorithm>
#include <bit>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
DuplicateFilter::Decision DuplicateFilter::PushRecord::At(uint32_t position) const {
  const auto page = pages.find(position / kPagePositions);
  if (page == pages.end()) return Decision::kOpen;
  const uint32_t word = position % kPagePositions / 64;
  const uint64_t bit = uint64_t{1} << (position % 64);
  if ((page->second.applied[word] & bit) != 0) return Decision::kApplied;
  return (page->second.refused[word] & bit) != 0 ? Decision::kRefused : Decision::kOpen;
}

// Word by word.
uint32_t DuplicateFilter::PushRecord::Decide(uint32_t first, uint32_t count, Decision decision) {
  uint32_t decided_now = 0;
  auto page = pages.end();
  for (uint32_t position = first, left = count; left > 0;) {
    const uint32_t number = position / kPagePositions;
    if (page == pages.end() || page->first != number) page = pages.try_emplace(number).first;
    const uint32_t word = position % kPagePositions / 64;
    const uint32_t here = std::min(64 - position % 64, left);
    const uint64_t mask = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << (position % 64);
    const uint64_t open = mask & ~(page->second.applied[word] | page->second.refused[word]);
    (decision == Decision::kApplied ? page->second.applied : page->second.refused)[word] |= open;
    decided_now += static_cast<uint32_t>(std::popcount(open));
    position += here;
    left -= here;
  }
  return decided_now;
}

bool DuplicateFilter::MergeAckedBelow(NodeId origin, SequenceNumber acked_below) {
  Origin& entry = origins_[origin];
  if (acked_below <= entry.acked_below) return false;
  entry.acked_below = acked_below;
  entry.generation = ++generation_;
  for (auto& records : entry.records) records.erase(records.begin(), records.upper_bound(acked_below));
  return true;
}

SequenceNumber DuplicateFilter::AckedBelow(NodeId origin) const {
  const auto it = origins_.find(origin);
  return it == origins_.end() ? SequenceNumber() : it->second.acked_below;
}

bool DuplicateFilter::Covered(NodeId origin, SequenceNumber sequence) const { return sequence <= AckedBelow(origin); }

void DuplicateFilter::NewsSince(uint64_t& generation, std::vector<Settled>& out) const {
  if (generation == generation_) return;
  for (const auto& [origin, entry] : origins_) {
    if (entry.generation > generation) out.push_back({.origin = origin, .acked_below = entry.acked_below});
  }
  generation = generation_;
}

const DuplicateFilter::PushRecord* DuplicateFilter::FindRecord(NodeId origin, SequenceNumber sequence,
                                                               Held held) const {
  const auto it = origins_.find(origin);
  if (it == origins_.end()) return nullptr;
  const auto& records = it->second.records[static_cast<size_t>(held)];
  const auto record = records.find(sequence);
  return record == records.end() ? nullptr : &record->second;
}

bool DuplicateFilter::HasRecord(NodeId origin, SequenceNumber sequence, Held held) const {
  return FindRecord(origin, sequence, held) != nullptr;
}

DuplicateFilter::Decision DuplicateFilter::Find(NodeId origin, SequenceNumber sequence, uint32_t position,
                                                Held held) const {
  const PushRecord* record = FindRecord(origin, sequence, held);
  return record == nullptr ? Decision::kOpen : record->At(position);
}

void DuplicateFilter::Record(NodeId origin, SequenceNumber sequence, TableId table, const Positions& positions,
                             std::span<const Key> keys, Decision decision, Held held) {
  if (positions.size() == 0) return;
  Origin& entry = origins_[origin];
  if (sequence <= entry.acked_below) return;
  PushRecord& record = entry.records[static_cast<size_t>(held)][sequence];
  record.table = table;
  if (positions.list.empty()) {
    record.decided += record.Decide(positions.first, positions.count, decision);
  } else {
    for (const uint32_t position : positions.list) record.decided += record.Decide(position, 1, decision);
  }
  record.pieces.push_back({.first = positions.first, .positions = positions.list, .keys = {keys.begin(), keys.end()}});
}

// Of a position that is decided.
void DuplicateFilter::Clear(PushRecord& record, uint32_t position) {
  Page& page = record.pages.at(position / kPagePositions);
  const uint32_t word = position % kPagePositions / 64;
  const uint64_t keep = ~(uint64_t{1} << (position % 64));
  page.applied[word] &= keep;
  page.refused[word] &= keep;
  --record.decided;
}

template <typename Visitor>
void DuplicateFilter::ForEachDecided(TableId table, Held held, Visitor&& visit) {
  for (auto& [origin, entry] : origins_) {
    auto& records = entry.records[static_cast<size_t>(held)];
    for (auto it = records.begin(); it != records.end();) {
      PushRecord& record = it->second;
      if (table == TableId() || record.table == table) {
        for (const Piece& piece : record.pieces) {
          for (size_t i = 0; i < piece.keys.size(); ++i) {
            const uint32_t position = piece.At(i);
            const Decision decision = record.At(position);
            if (decision == Decision::kOpen) continue;
            visit(origin, it->first, record, position, piece.keys[i], decision == Decision::kRefused);
          }
        }
      }
      it = record.decided == 0 ? records.erase(it) : std::next(it);
    }
  }
}

void DuplicateFilter::Collect(TableId table, std::span<const Key> keys, Held held, bool take,
                              std::vector<FilterRecord>& out) {
  const bool any = std::ranges::any_of(origins_, [&](const auto& entry) {
    return std::ranges::any_of(entry.second.records[static_cast<size_t>(held)],
                               [&](const auto& record) { return record.second.table == table; });
  });
  if (!any) return;  // mostly: pushes are settled soon
  places_.Clear();
  for (size_t i = 0; i < keys.size(); ++i) places_[{table, keys[i]}] = static_cast<uint32_t>(i);
  ForEachDecided(
      table, held,
      [&](NodeId origin, SequenceNumber sequence, PushRecord& record, uint32_t position, Key key, bool refused) {
        const uint32_t* place = places_.Find({table, key});
        if (place == nullptr) return;
        out.push_back(
            {.sequence = sequence, .origin = origin, .position = position, .key_index = *place, .refused = refused});
        if (take) Clear(record, position);
      });
}

void DuplicateFilter::Add(TableId table, std::span<const Key> keys, std::span<const FilterRecord> records, Held held) {
  for (const FilterRecord& record : records) {
    const Decision decision = record.refused ? Decision::kRefused : Decision::kApplied;
    // No origin sends so far ahead. With rows comes news of what is settled, so this is seldom asked too early.
    if (record.sequence.value() > AckedBelow(record.origin).value() + kPushWindowMax) continue;
    if (Find(record.origin, record.sequence, record.position, held) != Decision::kOpen) continue;
    Record(record.origin, record.sequence, table, {.first = record.position, .count = 1, .list = {}},
           keys.subspan(record.key_index, 1), decision, held);
  }
}

void DuplicateFilter::Copy(FilterRecords& out) {
  for (const auto& [origin, entry] : origins_) {
    if (entry.acked_below > SequenceNumber()) out.origins.push_back({origin.value(), entry.acked_below.value()});
  }
  ForEachDecided(
      TableId(), Held::kRow,
      [&](NodeId origin, SequenceNumber sequence, PushRecord& record, uint32_t position, Key key, bool refused) {
        const bool same = !out.pushes.empty() && out.pushes.back().origin == origin.value() &&
                          out.pushes.back().sequence == sequence.value() && out.pushes.back().refused == refused;
        if (!same) {
          out.pushes.push_back({.origin = origin.value(),
                                .sequence = sequence.value(),
                                .table = record.table.value(),
                                .refused = refused,
                                .keys = {},
                                .positions = {}});
        }
        out.pushes.back().keys.push_back(key);
        out.pushes.back().positions.push_back(position);
      });
}

void DuplicateFilter::DropIf(Held held, const std::function<bool(TableId, Key)>& drop) {
  ForEachDecided(TableId(), held, [&](NodeId, SequenceNumber, PushRecord& record, uint32_t position, Key key, bool) {
    if (drop(record.table, key)) Clear(record, position);
  });
}

void DuplicateFilter::ForgetIf(const std::function<bool(NodeId)>& gone) {
  std::erase_if(origins_, [&](const auto& entry) { return gone(entry.first); });
}

size_t DuplicateFilter::records() const {
  size_t count = 0;
  for (const auto& [origin, entry] : origins_) {
    for (const auto& records : entry.records) count += records.size();
  }
  return count;
}

}  // namespace attune::ps
