#include "ps/core/worker/rows/worker_replicas.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

template <typename Number>
Number UpTo(Number most, uint64_t count) {
  return static_cast<Number>(std::min<uint64_t>(most, count));
}

}  // namespace

WorkerReplicas::WorkerReplicas(const WorkerOptions& options, const ClusterView& cluster, OwnRows& own,
                               const RowRoutes& routes, const AnnouncedRows& announced, WorkerPushes& pushes,
                               WorkerPulls& pulls)
    : options_(options),
      cluster_(cluster),
      own_(own),
      routes_(routes),
      announced_(announced),
      pushes_(pushes),
      pulls_(pulls) {}

HeldRows& WorkerReplicas::CopiesOf(TableId table) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) return found->second;
  return tables_.try_emplace(table, routes_.Find(table)->options).first->second;
}

// --- announcements

void WorkerReplicas::Queue(TableKey row, Row& known) {
  if (std::exchange(known.is_queued, true)) return;
  Home& home = homes_[HomeOf(row.key)];
  // What a home is to know of a row that has a copy already can wait for a round that goes anyway.
  if (!known.has_copy() && !home.waits_since) home.waits_since = at_.clock;
  home.queue.push_back(row);
}

// A row is announced again once half of the time for which it was announced is over.
void WorkerReplicas::Take(const AnnouncedRows::News& news, const StepPoint& at) {
  at_ = at;
  if (!cluster_.formed()) return;
  const double steps_of_fetch = announced_.steps_of_fetch();
  for (const TableKey row : news.repeated) {
    if (routes_.Find(row.table) == nullptr) continue;
    const IntentBook::Touches touches = announced_.TouchesOf(row);
    // Pushed to and fetched again, it is there in time.
    if (touches.writes > 0 && touches.closest > steps_of_fetch) continue;
    if (touches.most() < yield_.uses_min()) continue;
    Row* known = rows_.Find(row);
    if (known == nullptr || !known->has_copy()) {
      if (!HasRoomFor(CopiesOf(row.table))) continue;
      known = &rows_[row];
    }
    if (known->is_announced && 2 * known->announced_until >= at.clock + touches.end) continue;
    Queue(row, *known);
  }
  // A copy that was announced no more is of use again: the home is to keep it up to date.
  for (const auto& [table, keys] : news.due) {
    for (const Key key : keys) {
      Row* const known = rows_.Find({table, key});
      if (known != nullptr && known->has_copy() && !known->is_announced) Queue({table, key}, *known);
    }
  }
  for (const TableKey row : news.ended) {
    if (Row* const known = rows_.Find(row); known != nullptr) Queue(row, *known);
  }
}

AnnouncedUse WorkerReplicas::UseOf(TableKey row, const Row& known) const {
  const IntentBook::Touches touches = announced_.TouchesOf(row);
  AnnouncedUse use{.has_copy = static_cast<uint16_t>(known.has_copy() ? 1 : 0)};
  if (touches.most() == 0 || touches.end <= at_.clock) return use;
  if (!known.has_copy() && !HasRoomFor(tables_.at(row.table))) return use;  // the home would give it again and again
  use.reads = UpTo<uint8_t>(255, touches.reads);
  use.writes = UpTo<uint8_t>(255, touches.writes);
  const double steps = static_cast<double>(touches.end - at_.clock);
  const double milliseconds = 1000 * steps / std::max(announced_.steps_per_second(), 1e-3);
  use.milliseconds = static_cast<uint16_t>(std::clamp<double>(milliseconds, 1, AnnouncedUse::kMillisecondsMax));
  return use;
}

void WorkerReplicas::StepBegan(const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  at_ = at;
  yield_.StepBegan();
  const uint64_t floor_needed = at.mode.FloorNeeded(at.step);
  for (auto& [to, home] : homes_) {
    if (has_copies() && home.confirmed_at) {
      for (const auto& [table, copies] : tables_) {
        const Duration age_max = announced_.AgeMaxOf(table).value_or(Duration::zero());
        if (copies.size() > 0 && now - *home.confirmed_at > age_max / 2) home.is_wanted = true;
      }
      if (home.confirmed_floor < floor_needed) home.is_wanted = true;
    }
    // Copies are to be here before the steps that need them.
    const bool is_due = home.waits_since && 4 * (at.clock - *home.waits_since) >= announced_.steps_ahead();
    TryRound(to, home, is_due ? now : home.pace.next(), now, out);
  }
}

// --- copies

// A program that has not announced a row, a sum at its end for instance, expects what is there when it asks.
Duration WorkerReplicas::AgeMaxOf(TableKey row, const Row& known, const StepPoint& at, CopyReads copies) const {
  const bool is_announced = known.announced_until > at.clock || announced_.TouchesOf(row).end > at.clock;
  const bool may_be_old = is_announced || copies == CopyReads::kAny;
  if (!may_be_old && !options_.mutations.unannounced_row_may_be_old) return Duration::zero();
  return announced_.AgeMaxOf(row.table).value_or(Duration::zero());
}

bool WorkerReplicas::MayRead(const Home& home, const Row& row, Duration age_max, uint64_t floor_needed,
                             MonotonicTime since) const {
  if (!home.confirmed_at) return false;
  if (home.confirmed_round < row.fresh_from && !options_.mutations.copy_read_after_newer) return false;
  if (since - *home.confirmed_at > age_max && !options_.mutations.copy_read_past_age) return false;
  return home.confirmed_floor >= floor_needed || options_.mutations.copy_read_before_floor;
}

WorkerReplicas::Found WorkerReplicas::Read(TableKey row, const StepPoint& at, MonotonicTime now,
                                           std::span<const float>& values, CopyReads copies) {
  const Row* const known = rows_.Find(row);
  if (known == nullptr) return Found::kNone;
  if (!known->has_copy()) return known->is_asked_for ? Found::kAsked : Found::kNone;
  const auto home = homes_.find(HomeOf(row.key));
  if (home == homes_.end() ||
      !MayRead(home->second, *known, AgeMaxOf(row, *known, at, copies), at.mode.FloorNeeded(at.step), now)) {
    return Found::kNotYet;
  }
  values = tables_.at(row.table).ValuesAt(known->place);
  yield_.Served();
  counts_.oldest_read = std::max(counts_.oldest_read, now - *home->second.confirmed_at);
  return Found::kHere;
}

void WorkerReplicas::Wait(TableKey row, CallId call, uint32_t place, const StepPoint& at, MonotonicTime now,
                          WorkerOutputs& out) {
  at_ = at;
  const NodeId to = HomeOf(row.key);
  Home& home = homes_[to];
  home.waiters.push_back({.call = call,
                          .place = place,
                          .row = row,
                          .floor_needed = at.mode.FloorNeeded(at.step),
                          .since = now,
                          .age_max = AgeMaxOf(row, *rows_.Find(row), at, CopyReads::kAnnounced)});
  if (home.is_in_flight) return;  // the end of that round says whether another one is needed
  home.is_wanted = true;
  TryRound(to, home, home.pace.next(), now, out);
}

void WorkerReplicas::ServeWaiters(Home& home, MonotonicTime now, WorkerOutputs& out) {
  std::map<std::pair<CallId, TableId>, std::map<uint32_t, Key>> elsewhere;
  for (const Waiter& waiter : std::exchange(home.waiters, {})) {
    const Row* const known = rows_.Find(waiter.row);
    if (known != nullptr && known->is_asked_for && !known->has_copy()) {
      home.waiters.push_back(waiter);
    } else if (known == nullptr || !known->has_copy()) {
      elsewhere[{waiter.call, waiter.row.table}][waiter.place] = waiter.row.key;
    } else if (MayRead(home, *known, waiter.age_max, waiter.floor_needed, waiter.since)) {
      pulls_.Fill(waiter.call, waiter.place, tables_.at(waiter.row.table).ValuesAt(known->place), out);
    } else {
      home.is_wanted = true;
      home.waiters.push_back(waiter);
    }
  }
  for (const auto& [call, rows] : elsewhere) {
    pulls_.AskInstead(call.first, call.second, routes_.Find(call.second)->options.dim, rows, now, out);
  }
}

bool WorkerReplicas::Refuses(TableId table, std::span<const float> gradients) const {
  const auto copies = tables_.find(table);
  return copies != tables_.end() && copies->second.Refuses(gradients);
}

WorkerReplicas::Open& WorkerReplicas::OpenFor(Home& home, TableId table) {
  for (Open& open : home.open) {
    if (open.table == table && open.keys.size() < kKeysPerCallMax) return open;
  }
  return home.open.emplace_back(Open{.table = table, .reserved = pushes_.window().Reserve(table), .keys = {}});
}

void WorkerReplicas::Push(TableId table, std::span<const Key> keys, std::span<const float> gradients, uint64_t step) {
  HeldRows& copies = tables_.at(table);
  const size_t dim = gradients.size() / keys.size();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Row& known = *rows_.Find({table, keys[i]});
    if (!copies.Push(known.place, gradients.subspan(i * dim, dim), step)) continue;
    OpenFor(homes_[HomeOf(keys[i])], table).keys.push_back(keys[i]);
  }
}

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
              .rounds_per_second = std::min(per_second, kRoundsPerSecondMax)};
  std::map<TableId, std::vector<Key>> tables;
  home.waits_since.reset();
  home.pace.Carried(home.queue.size(), 0);
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
    const TableKey row{reply.table, reply.keys[i]};
    if (HomeOf(row.key) != from) continue;
    const std::span<const float> fresh = reply.rows.view().subspan(i * floats, floats);
    Row& known = rows_[row];
    if (known.has_copy()) {
      copies.Refresh(known.place, fresh, reply.versions[i]);
    } else if (known.is_announced && HasRoomFor(copies) &&
               (!known.was_used || options_.mutations.copy_taken_after_use)) {
      known.place = copies.Add(fresh, reply.versions[i]);
      bytes_ += copies.row_bytes();
      yield_.Given();
      added.push_back(row);
    } else {
      Queue(row, known);  // says that there is none
    }
  }
}

std::vector<TableKey> WorkerReplicas::EndRound(NodeId from, Home& home, MonotonicTime now, WorkerOutputs& out) {
  home.is_in_flight = false;
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
  bytes_ -= copies.row_bytes();
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
  bytes_ = 0;
  for (auto& [to, home] : homes) {
    if (why == Because::kIgnored) homes_[to].is_wanted = true;  // its first round makes the home forget
    ServeWaiters(home, now, out);
  }
}

}  // namespace attune::ps
