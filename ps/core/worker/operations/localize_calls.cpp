#include "ps/core/worker/operations/localize_calls.h"

#include "base/pause_watch.h"

namespace attune::ps {

LocalizeCalls::Id LocalizeCalls::Add(const LocalizeCall& call, std::vector<Key> unique_keys) {
  const Id id = std::exchange(next_, next_.Next());
  Call& added = calls_[id];
  added.call = call.call;
  added.deadline = call.deadline;
  added.table = call.table;
  added.keys = std::move(unique_keys);
  return id;
}

std::vector<LocalizeCalls::Waiting> LocalizeCalls::NotBegun() const {
  std::vector<Waiting> waiting;
  for (const auto& [id, call] : calls_) {
    if (!call.begun) waiting.push_back({.call = id, .table = call.table});
  }
  return waiting;
}

// Which rows are to come: those that are not here, as far as there is memory for them.
void LocalizeCalls::Choose(Id id, Call& call, const Space& space, MonotonicTime now) {
  call.begun = true;
  const size_t count = call.keys.size();
  present_.assign((count + 63) / 64, 0);
  if (space.here != nullptr) space.here->Contains(call.keys.view(), present_);
  std::vector<Key> wanted;
  for (uint32_t i = 0; i < count; ++i) {
    if (((present_[i / 64] >> (i % 64)) & 1) != 0) {
      ++call.result.already_here;
    } else if (wanted.size() < space.rows_max) {
      wanted.push_back(call.keys[i]);
    } else {
      ++call.result.refused;
    }
  }
  call.open = static_cast<uint32_t>(wanted.size());
  for (uint32_t i = 0; i < call.open; ++i) coming_.Add(call.table, wanted[i], id, i);
  call.keys = std::move(wanted);
  call.arrived.assign((call.open + 63) / 64, 0);
  call.backoff = options_.resend_after;
  call.send_again = now + call.backoff;
}

void LocalizeCalls::Postpone(Duration pause) {
  for (auto& [id, call] : calls_) call.deadline = MovedBy(pause, call.deadline);
}

void LocalizeCalls::EndAll(const Status& status, std::vector<Completion>& completions) {
  while (!calls_.empty()) End(calls_.begin()->first, status, completions);
}

void LocalizeCalls::Arrived(TableId table, const Slice<Key>& keys, std::vector<Completion>& completions) {
  if (calls_.empty()) return;
  for (const Key key : keys) {
    waiting_.clear();
    coming_.Find(table, key, 0, waiting_);
    for (const After& waiting : waiting_) {
      Call& call = calls_.at(waiting.sequence);
      call.arrived[waiting.position / 64] |= uint64_t{1} << (waiting.position % 64);
      coming_.Remove(table, key, waiting.sequence);
      ++call.result.moved;
      if (--call.open == 0) End(waiting.sequence, OkStatus(), completions);
    }
  }
}

Slice<Key> LocalizeCalls::OpenKeys(const Call& call) {
  if (call.open == call.keys.size()) return call.keys;
  std::vector<Key> open;
  for (uint32_t i = 0; i < call.keys.size(); ++i) {
    if (!call.HasArrived(i)) open.push_back(call.keys[i]);
  }
  return open;
}

void LocalizeCalls::End(Id id, Status status, std::vector<Completion>& completions) {
  const auto it = calls_.find(id);
  Call& call = it->second;
  for (uint32_t i = 0; call.begun && i < call.keys.size() && call.open > 0; ++i) {
    if (!call.HasArrived(i)) coming_.Remove(call.table, call.keys[i], id);
  }
  if (status.ok() && call.result.refused > 0) {
    status = Error(StatusCode::kResourceExhausted,
                   "localize: " + std::to_string(call.result.moved) + " rows have come, " +
                       std::to_string(call.result.refused) + " stay where they are: the rows of this worker may take " +
                       std::to_string(options_.row_bytes_max) + " bytes; raise SessionOptions::row_bytes_max");
  }
  completions.push_back({.call = call.call, .status = std::move(status), .result = call.result});
  calls_.erase(it);
}

}  // namespace attune::ps
