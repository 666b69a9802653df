// Of WorkerReplicas: rounds with the homes of copies.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/worker/rows/worker_replicas.h"

namespace attune::ps {
namespace {

uint64_t PicosecondsPerByte(const PathPrice& price) {
  return std::min(static_cast<uint64_t>(std::llround(price.seconds_per_byte() * 1e12)), kPicosecondsPerByteMax);
}

}  // namespace

// --- rounds

bool WorkerReplicas::IsUrgent(const Home& home) const {
  return home.is_wanted || (!home.open.empty() && (at_.mode.bounded() || pushes_.window().IsHeldUp()));
}

void WorkerReplicas::TryRound(NodeId to, Home& home, MonotonicTime not_before, MonotonicTime now, WorkerOutputs& out) {
  if (home.is_in_flight || !home.HasNews() || !cluster_.IsConnected(to)) return;
  if (now >= not_before || IsUrgent(home)) SendRound(to, home, now, out);
}

void WorkerReplicas::OnTimer(MonotonicTime now, WorkerOutputs& out) {
  for (auto& [to, home] : homes_) TryRound(to, home, home.pace.latest(), now, out);
}

MonotonicTime WorkerReplicas::WakeAt() const {
  MonotonicTime next = kNever;
  for (const auto& [to, home] : homes_) {
    if (home.is_in_flight || !home.HasNews() || !cluster_.IsConnected(to)) continue;
    next = std::min(next, IsUrgent(home) ? MonotonicTime() : home.pace.latest());
  }
  return next;
}

void WorkerReplicas::Hurry(MonotonicTime now, WorkerOutputs& out) {
  for (auto& [to, home] : homes_) {
    if (home.open.empty()) continue;
    home.is_wanted = true;
    TryRound(to, home, home.pace.next(), now, out);
  }
}

// The folds first: the answer to the round then contains them, so that there is never one in flight which a copy that
// comes might lack.
void WorkerReplicas::SendRound(NodeId to, Home& home, MonotonicTime now, WorkerOutputs& out) {
  SendFolds(to, home, now, out);
  const bool is_first = std::exchange(home.round, ++rounds_) == 0;
  home.is_in_flight = true;
  home.is_wanted = false;
  home.sent_at = now;
  home.floor = at_.floor;
  home.pace.Sent(now);
  SendAnnouncements(to, home, is_first, now, out);
}

void WorkerReplicas::SendFolds(NodeId to, Home& home, MonotonicTime now, WorkerOutputs& out) {
  for (Open& open : std::exchange(home.open, {})) {
    HeldRows& copies = tables_.at(open.table);
    const size_t floats = copies.fold_floats();
    WorkerPushes::Folds folds{.keys = {}, .counts = {}, .changes = {}};
    std::vector<float> changes(open.keys.size() * floats);
    for (size_t i = 0; i < open.keys.size(); ++i) {
      PrefetchAhead(open.table, open.keys, i);
      const Row& known = *rows_.Find({open.table, open.keys[i]});
      folds.counts.push_back(copies.TakeFold(known.place, std::span(changes).subspan(i * floats, floats)));
    }
    home.pace.Carried(open.keys.size(), floats * sizeof(float));
    counts_.flushed_bytes += changes.size() * sizeof(float);
    folds.keys = std::move(open.keys);
    folds.changes = std::move(changes);
    pushes_.PushFolds(open.reserved, to, std::move(folds), now, out);
  }
}

void WorkerReplicas::SendAnnouncements(NodeId to, Home& home, bool is_first, MonotonicTime now, WorkerOutputs& out) {
  uint64_t per_second = home.pace.per_second();
  if (at_.mode.bounded()) per_second = std::max(per_second, static_cast<uint64_t>(announced_.steps_per_second()));
  Round round{.map_version = cluster_.map().version,
              .number = home.round,
              .first = is_first,
              .rounds_per_second = std::min(per_second, kRoundsPerSecondMax),
              .picoseconds_per_byte = PicosecondsPerByte(home.pace.price())};
  std::map<TableId, std::vector<Key>> tables;
  home.waits_since.reset();
  home.pace.Carried(home.queue.size(), sizeof(Key) + sizeof(AnnouncedUse));
  for (const TableKey row : std::exchange(home.queue, {})) tables[row.table].push_back(row.key);
  const auto send = [&] {
    own_.SendInOrder(to, round, now, out);
    round.first = false;
  };
  for (const auto& [table, keys] : tables) {
    for (size_t at = 0; at < keys.size(); at += kKeysPerMessageMax) {
      if (!round.keys.empty()) send();  // the one before, which is not the last
      const std::span<const Key> part = std::span(keys).subspan(at, std::min(kKeysPerMessageMax, keys.size() - at));
      round.table = table;
      round.keys = std::vector<Key>(part.begin(), part.end());
      round.after.clear();
      TakeUses(home, round);
    }
  }
  round.last = true;
  send();
}

void WorkerReplicas::TakeUses(Home& home, Round& round) {
  std::vector<AnnouncedUse> uses;
  uses.reserve(round.keys.size());
  for (const Key key : round.keys) {
    const TableKey row{round.table, key};
    Row& known = *rows_.Find(row);
    const AnnouncedUse use = uses.emplace_back(UseOf(row, known));
    known.is_queued = false;
    known.was_used = false;
    known.is_announced = use.reads > 0 || use.writes > 0;
    known.is_asked_for = known.is_announced && !known.has_copy();
    if (known.is_asked_for) home.asked.push_back(row);
    known.announced_until = announced_.TouchesOf(row).end;
    if (!known.is_announced && !known.has_copy()) rows_.Erase(row);
  }
  round.uses = std::move(uses);
  pushes_.window().FindOpenOf(round.table, round.keys.view(), round.after);
  // The folds of what has a copy are contained in it.
  std::erase_if(round.after, [&](const After& after) { return round.uses[after.key_index].has_copy != 0; });
}

WorkerReplicas::Changes WorkerReplicas::On(NodeId from, RoundReply&& reply, MonotonicTime now, WorkerOutputs& out) {
  Changes changes;
  const auto found = homes_.find(from);
  if (found == homes_.end() || !found->second.is_in_flight || found->second.round != reply.number) return changes;
  Home& home = found->second;
  if (!reply.keys.empty()) TakeRows(from, home, reply, changes.added, out);
  for (const Key key : reply.left) {
    if (HomeOf(key) == from) home.left.push_back({reply.table, key});
  }
  if (reply.last) changes.left = EndRound(from, home, now, out);
  return changes;
}

void WorkerReplicas::TakeRows(NodeId from, Home& home, const RoundReply& reply, std::vector<TableKey>& added,
                              WorkerOutputs& out) {
  if (routes_.Find(reply.table) == nullptr) return;
  HeldRows& copies = CopiesOf(reply.table);
  const size_t floats = copies.row_floats();
  if (reply.rows.size() != reply.keys.size() * floats) {
    out.rejected.push_back({from, "RoundReply: rows of a length that the table does not have"});
    return;
  }
  home.pace.Carried(reply.keys.size(), floats * sizeof(float));
  counts_.refreshed_bytes += reply.rows.size() * sizeof(float);
  for (size_t i = 0; i < reply.keys.size(); ++i) {
    PrefetchAhead(reply.table, reply.keys.view(), i);
    const TableKey row{reply.table, reply.keys[i]};
    if (HomeOf(row.key) != from) continue;
    const std::span<const float> fresh = reply.rows.view().subspan(i * floats, floats);
    Row& known = rows_[row];
    if (known.has_copy()) {
      copies.Refresh(known.place, fresh, reply.versions[i]);
    } else if (known.is_announced && room_.HasFor(copies.row_bytes()) &&
               (!known.was_used || options_.mutations.copy_taken_after_use)) {
      known.place = copies.Add(fresh, reply.versions[i]);
      room_.Take(copies.row_bytes());
      yield_.Given();
      added.push_back(row);
    } else {
      Queue(row, known);  // says that there is none
    }
  }
}

std::vector<TableKey> WorkerReplicas::EndRound(NodeId from, Home& home, MonotonicTime now, WorkerOutputs& out) {
  home.is_in_flight = false;
  home.pace.Answered(now);
  home.confirmed_at = home.sent_at;
  home.confirmed_floor = home.floor;
  home.confirmed_round = home.round;
  for (const TableKey row : std::exchange(home.asked, {})) {
    if (Row* const known = rows_.Find(row); known != nullptr) known->is_asked_for = false;
  }
  // What was pushed to copies that the home has taken back goes out before they do.
  std::vector<TableKey> left = std::exchange(home.left, {});
  const bool has_open = std::ranges::any_of(left, [&](TableKey row) {
    const Row* const known = rows_.Find(row);
    return known != nullptr && known->has_copy() && tables_.at(row.table).HasOpen(known->place);
  });
  if (has_open) SendRound(from, home, now, out);
  for (const TableKey row : left) Drop(row);
  ServeWaiters(home, now, out);
  TryRound(from, home, home.pace.latest(), now, out);
  return left;
}

void WorkerReplicas::Drop(TableKey row) {
  Row* const known = rows_.Find(row);
  if (known == nullptr || !known->has_copy()) return;
  HeldRows& copies = tables_.at(row.table);
  copies.Remove(std::exchange(known->place, Row::kNone));
  room_.Free(copies.row_bytes());
  if (!known->is_announced && !known->is_queued) rows_.Erase(row);
}

CopyCounts WorkerReplicas::TakeCounts() {
  CopyCounts counts = std::exchange(counts_, {});
  for (const auto& [table, copies] : tables_) counts.copies += copies.size();
  return counts;
}

void WorkerReplicas::GiveUp(Because why, MonotonicTime now, WorkerOutputs& out) {
  if (why == Because::kHomesChanged && options_.mutations.copies_kept_over_homes) return;
  std::map<NodeId, Home> homes = std::exchange(homes_, {});
  for (auto& [to, home] : homes) SendFolds(NodeId(), home, now, out);  // by the map of today
  rows_.Clear();
  tables_.clear();
  room_.FreeAll();
  for (auto& [to, home] : homes) {
    if (why == Because::kIgnored) homes_[to].is_wanted = true;  // its first round makes the home forget
    ServeWaiters(home, now, out);
  }
}

}  // namespace attune::ps
