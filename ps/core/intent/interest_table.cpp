#include "ps/core/intent/interest_table.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace attune::ps {
namespace {

constexpr Duration kAheadMax = std::chrono::hours(24);  // what is announced for later is for then

template <typename Counter>
Counter UpToMax(double count) {
  return static_cast<Counter>(std::min(count, static_cast<double>(std::numeric_limits<Counter>::max())));
}

uint32_t Milliseconds(MonotonicTime time) {
  return static_cast<uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

// At least a millisecond: who has announced a row and is late will still use it.
double SecondsUntil(uint32_t until, MonotonicTime now) {
  return 1e-3 * std::max<int32_t>(1, static_cast<int32_t>(until - Milliseconds(now)));
}

}  // namespace

bool InterestTable::Announce(TableKey row, NodeId node, const Announcement& announced, MonotonicTime now) {
  Interest* interest = Find(row, node);
  if (interest == nullptr) {
    if (interests_.size() >= interests_max_) return false;
    interest = &interests_.Add(row);
    interest->node = node;
  }
  interest->reads = UpToMax<uint16_t>(announced.use.reads);
  interest->writes = UpToMax<uint16_t>(announced.use.writes);
  interest->until = Milliseconds(std::clamp(announced.until, now, now + kAheadMax));
  interest->refreshes = 0;
  return true;
}

void InterestTable::Withdraw(TableKey row, NodeId node) {
  interests_.RemoveOf(row, [&](Interest& interest) {
    if (interest.node != node) return false;
    if (interest.is_announced()) interest.refreshes = 0;
    interest.reads = interest.writes = 0;
    return interest.place == RowPlace::kLeft;
  });
}

void InterestTable::HasNone(TableKey row, NodeId node) {
  if (Interest* const interest = Find(row, node); interest != nullptr && interest->place == RowPlace::kReplicated) {
    interest->place = RowPlace::kLeft;
    interest->is_changed = false;
  }
}

InterestTable::Refresh InterestTable::TakeRefresh(TableKey row, NodeId node) {
  Interest* const interest = Find(row, node);
  if (interest == nullptr || interest->place != RowPlace::kReplicated || !interest->is_changed)
    return Refresh::kNothing;
  if (!interest->is_announced() && interest->refreshes > 0) return Refresh::kOfNoUse;
  interest->is_changed = false;
  if (interest->refreshes < kRefreshesCounted) ++interest->refreshes;
  return Refresh::kSend;
}

void InterestTable::Collect(TableKey row, MonotonicTime now, std::vector<RowInterest>& interests) const {
  interests.clear();
  interests_.ForEach(row, [&](const Interest& interest) {
    interests.push_back(
        {.node = interest.node,
         .use = {.reads = static_cast<double>(interest.reads), .writes = static_cast<double>(interest.writes)},
         .seconds = interest.is_announced() ? SecondsUntil(interest.until, now) : 0,
         .place = interest.place,
         .refreshes_since_use = interest.refreshes});
  });
}

void InterestTable::Place(TableKey row, std::span<const RowInterest> interests) {
  for (const RowInterest& decided : interests) {
    Interest* const interest = Find(row, decided.node);
    if (interest == nullptr || interest->place == decided.place) continue;
    interest->place = decided.place;
    interest->is_changed = false;
  }
  interests_.RemoveOf(
      row, [](const Interest& interest) { return !interest.is_announced() && interest.place == RowPlace::kLeft; });
}

}  // namespace attune::ps
