#include "ps/store/snapshot.h"

#include <algorithm>
#include <cstring>

namespace attune::ps {

void Snapshot::Begin() {
  Clear();
  active_ = true;
}

void Snapshot::Clear() {
  active_ = at_end_ = false;
  next_hash_ = 0;
  std::deque<Saved>().swap(saved_);
  std::vector<Key>().swap(flagged_);
}

std::unique_ptr<std::byte[]> Snapshot::NewRow() const {
  // Floats lie at multiples of four: row_bytes is one, and new aligns for more.
  return std::make_unique_for_overwrite<std::byte[]>(layout_.row_bytes() + sizeof(float));
}

float* Snapshot::RowStateOf(const Saved& row) const {
  const size_t at = (layout_.row_bytes() + sizeof(float) - 1) / sizeof(float) * sizeof(float);
  return layout_.has_row_state() ? reinterpret_cast<float*>(row.bytes.get() + at) : nullptr;
}

void Snapshot::Save(Key key, const SideRecord& side, const std::byte* row, const float* row_state, bool changed) {
  Saved saved{.key = key, .side = side, .changed = changed, .bytes = NewRow()};
  std::memcpy(saved.bytes.get(), row, layout_.row_bytes());
  if (row_state != nullptr) *RowStateOf(saved) = *row_state;
  const MutexLock lock(mutex_);
  saved_.push_back(std::move(saved));
  flagged_.push_back(key);
}

void Snapshot::Flag(Key key) {
  const MutexLock lock(mutex_);
  flagged_.push_back(key);
}

void Snapshot::Add(const RowView& row) {
  Saved saved{.key = row.key, .side = {}, .changed = true, .bytes = NewRow()};
  saved.side.set_version(row.version);
  saved.side.move_number = row.move_number;
  layout_.Write(row, saved.bytes.get(), RowStateOf(saved));
  const MutexLock lock(mutex_);
  saved_.push_back(std::move(saved));
}

bool Snapshot::Advance(uint64_t rows, uint64_t row_count, uint64_t* first, uint64_t* last) {
  if (at_end_) return false;
  // Hashes are spread evenly over the rows.
  constexpr uint64_t kAll = ~uint64_t{0};
  const uint64_t step = rows >= row_count ? kAll : std::max<uint64_t>(1, kAll / row_count * rows);
  *first = next_hash_;
  if (step > kAll - next_hash_) {
    *last = kAll;
    at_end_ = true;
  } else {
    *last = next_hash_ + (step - 1);
    next_hash_ += step;
  }
  return true;
}

uint64_t Snapshot::memory_bytes() const {
  const MutexLock lock(mutex_);
  return saved_.size() * (sizeof(Saved) + layout_.row_bytes() + sizeof(float)) + flagged_.capacity() * sizeof(Key);
}

}  // namespace attune::ps
