#include "ps/core/duplicate_filter.h"

#include <algorithm>

namespace attune::ps {
namespace {

bool TestBit(const std::vector<uint64_t>& bits, uint32_t first_word, uint32_t position) {
  const uint32_t word = position / 64;
  return word >= first_word && word - first_word < bits.size() &&
         ((bits[word - first_word] >> (position % 64)) & 1) != 0;
}

// Sets the bits of [first, first + count), word by word.
void SetRange(std::vector<uint64_t>& bits, uint32_t first, uint32_t count) {
  for (uint32_t position = first, end = first + count; position < end;) {
    const uint32_t here = std::min(64 - position % 64, end - position);
    const uint64_t mask = (here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1) << (position % 64);
    bits[position / 64] |= mask;
    position += here;
  }
}

}  // namespace

bool DuplicateFilter::MergeAckedBelow(NodeId origin, SequenceNumber acked_below) {
  Origin& entry = origins_[origin];
  if (acked_below <= entry.acked_below) return false;
  entry.acked_below = acked_below;
  entry.records.erase(entry.records.begin(), entry.records.upper_bound(acked_below));
  return true;
}

SequenceNumber DuplicateFilter::AckedBelow(NodeId origin) const {
  const auto it = origins_.find(origin);
  return it == origins_.end() ? SequenceNumber() : it->second.acked_below;
}

bool DuplicateFilter::Covered(NodeId origin, SequenceNumber sequence) const { return sequence <= AckedBelow(origin); }

const DuplicateFilter::PushRecord* DuplicateFilter::FindRecord(NodeId origin, SequenceNumber sequence) const {
  const auto it = origins_.find(origin);
  if (it == origins_.end()) return nullptr;
  const auto record = it->second.records.find(sequence);
  return record == it->second.records.end() ? nullptr : &record->second;
}

bool DuplicateFilter::HasRecord(NodeId origin, SequenceNumber sequence) const {
  return FindRecord(origin, sequence) != nullptr;
}

DuplicateFilter::Decision DuplicateFilter::Find(NodeId origin, SequenceNumber sequence, uint32_t position) const {
  const PushRecord* record = FindRecord(origin, sequence);
  if (record == nullptr) return Decision::kOpen;
  if (TestBit(record->applied, record->first_word, position)) return Decision::kApplied;
  if (TestBit(record->refused, record->first_word, position)) return Decision::kRefused;
  return Decision::kOpen;
}

void DuplicateFilter::Record(NodeId origin, SequenceNumber sequence, const Positions& positions, Decision decision) {
  if (positions.size() == 0) return;
  PushRecord& record = origins_[origin].records[sequence];
  const uint32_t first_word = positions.At(0) / 64;
  const uint32_t last_word = positions.At(positions.size() - 1) / 64;
  if (record.applied.empty()) record.first_word = first_word;
  if (first_word < record.first_word) {
    const uint32_t more = record.first_word - first_word;
    record.applied.insert(record.applied.begin(), more, 0);
    if (!record.refused.empty()) record.refused.insert(record.refused.begin(), more, 0);
    record.first_word = first_word;
  }
  if (last_word - record.first_word >= record.applied.size()) record.applied.resize(last_word - record.first_word + 1);
  if (!record.refused.empty() || decision == Decision::kRefused) record.refused.resize(record.applied.size());

  std::vector<uint64_t>& bits = decision == Decision::kApplied ? record.applied : record.refused;
  const uint32_t base = record.first_word * 64;
  if (positions.list.empty()) {
    SetRange(bits, positions.first - base, positions.count);
  } else {
    for (const uint32_t position : positions.list) SetRange(bits, position - base, 1);
  }
}

void DuplicateFilter::Forget(NodeId origin) { origins_.erase(origin); }

size_t DuplicateFilter::records() const {
  size_t count = 0;
  for (const auto& [origin, entry] : origins_) count += entry.records.size();
  return count;
}

}  // namespace attune::ps
