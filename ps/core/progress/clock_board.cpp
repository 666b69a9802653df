#include "ps/core/progress/clock_board.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {

ClockBoard::ClockBoard(uint32_t term, SyncMode mode) : next_hold_((uint64_t{term} << 32) + 1) {
  state_.revision = uint64_t{term} << 32;
  state_.mode = state_.mode_before = mode;
}

void ClockBoard::Changed() {
  ++state_.revision;
  changed_ = true;
}

bool ClockBoard::TakeChanged() { return std::exchange(changed_, false); }

void ClockBoard::Add(NodeId worker) { workers_[worker] = {.clock = state_.floor, .lifted = state_.floor}; }

void ClockBoard::Remove(NodeId worker) {
  if (workers_.erase(worker) > 0) UpdateFloor();
}

void ClockBoard::SetCounted(NodeId worker, bool counted) {
  const auto it = workers_.find(worker);
  if (it == workers_.end() || it->second.counted == counted) return;
  it->second.counted = counted;
  if (counted) it->second.lifted = std::max(it->second.lifted, state_.floor);
  UpdateFloor();
}

bool ClockBoard::IsCounted(NodeId worker) const {
  const auto it = workers_.find(worker);
  return it != workers_.end() && it->second.counted;
}

uint64_t ClockBoard::ClockOf(NodeId worker) const {
  const auto it = workers_.find(worker);
  return it == workers_.end() ? 0 : it->second.Clock();
}

void ClockBoard::Report(NodeId id, uint64_t clock, uint64_t begun, uint64_t promised) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  Worker& worker = it->second;
  worker.clock = std::max(worker.clock, clock);
  worker.begun = std::max(worker.begun, begun);
  worker.promised = std::max(worker.promised, promised);
  if (holding() && worker.promised != state_.hold && worker.begun >= state_.hold_at) {
    margin_ *= 2;
    Raise();
  }
  UpdateFloor();
}

// The floor never falls: who is counted again stands at it.
void ClockBoard::UpdateFloor() {
  std::optional<uint64_t> lowest;
  NodeId slowest;
  uint64_t highest = 0;
  for (const auto& [id, worker] : workers_) {
    highest = std::max(highest, worker.Clock());
    if (!worker.counted || (lowest && worker.Clock() >= *lowest)) continue;
    lowest = worker.Clock();
    slowest = id;
  }
  // With no worker at work the next one begins beyond whatever was decided.
  const uint64_t floor = std::max(state_.floor, lowest.value_or(std::max(highest, state_.hold_at)));
  if (floor == state_.floor && slowest == state_.slowest) return;
  const bool risen = floor > state_.floor;
  state_.floor = floor;
  state_.slowest = slowest;
  if (risen && (state_.mode.bounded() || holding())) {
    Changed();
  } else {
    ++state_.revision;
  }
}

void ClockBoard::Prepare() {
  margin_ = 1;
  Raise();
}

void ClockBoard::Raise() {
  uint64_t last_begun = state_.floor;
  for (const auto& [id, worker] : workers_) last_begun = std::max({last_begun, worker.begun, worker.Clock()});
  state_.hold = next_hold_++;
  state_.hold_at = std::max(state_.hold_at, CappedSum(last_begun, margin_));
  Changed();
}

bool ClockBoard::AllPromised() const {
  return holding() &&
         std::ranges::all_of(workers_, [&](const auto& entry) { return entry.second.promised == state_.hold; });
}

bool ClockBoard::AllStand() const { return holding() && Missing().empty(); }

std::vector<NodeId> ClockBoard::Missing() const {
  std::vector<NodeId> missing;
  for (const auto& [id, worker] : workers_) {
    const bool stands = !worker.counted || worker.Clock() >= state_.hold_at;
    if (worker.promised != state_.hold || !stands) missing.push_back(id);
  }
  return missing;
}

void ClockBoard::Switch(SyncMode mode) {
  ATTUNE_CHECK(holding());
  state_.mode_before = state_.mode;
  state_.mode = mode;
  state_.mode_from = state_.hold_at;
  Release();
}

void ClockBoard::Release() {
  state_.hold = 0;
  UpdateFloor();
  Changed();
}

void ClockBoard::Restore(SyncMode mode, uint64_t floor) {
  state_.mode = state_.mode_before = mode;
  state_.floor = std::max(state_.floor, floor);
  Changed();
}

void ClockBoard::Restore(const SyncState& reported) {
  state_.mode = reported.mode;
  state_.mode_before = reported.mode_before;
  state_.mode_from = reported.mode_from;
  state_.floor = std::max(state_.floor, reported.floor);
  state_.hold_at = std::max(state_.hold_at, reported.hold_at);
  Changed();
}

void ClockBoard::Restore(const std::vector<Standing>& workers) {
  for (const Standing& worker : workers) {
    workers_[worker.worker] = {.counted = worker.counted, .clock = worker.clock, .begun = worker.begun};
  }
  UpdateFloor();
}

bool ClockBoard::AnyoneWaits() const {
  if (!state_.mode.bounded()) return false;
  return std::ranges::any_of(workers_, [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.counted && worker.clock > worker.begun && state_.floor < state_.mode.FloorNeeded(worker.clock);
  });
}

// --- the worker's side

}  // namespace attune::ps
