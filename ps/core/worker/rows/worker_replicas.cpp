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
      pulls_(pulls),
      room_(options.row_bytes_max) {}

HeldRows& WorkerReplicas::CopiesOf(TableId table) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) return found->second;
  return tables_.try_emplace(table, routes_.Find(table)->options).first->second;
}

// --- announcements

void WorkerReplicas::Queue(TableKey row, Row& known) {
  if (std::exchange(known.is_queued, true)) return;
  Home& home = homes_[HomeOf(row.key)];
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
      if (!MakeRoomFor(CopiesOf(row.table))) continue;
      known = &rows_[row];
      // What a home is to know of rows that have copies can wait for a round that goes anyway.
      Home& home = homes_[HomeOf(row.key)];
      if (!home.waits_since) home.waits_since = at.clock;
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

// Copies that are of no use at present make room, those of them that come next in the map. Their homes hear of it.
bool WorkerReplicas::MakeRoomFor(const HeldRows& wanted) {
  if (room_.HasFor(wanted.row_bytes())) return true;
  std::vector<TableKey> unused;
  rows_.VisitNext(kSlotsLookedAt, [&](TableKey row, const Row& known) {
    if (!known.has_copy() || known.is_announced || announced_.TouchesOf(row).end > at_.clock) return;
    if (!tables_.at(row.table).HasOpen(known.place)) unused.push_back(row);
  });
  for (size_t i = 0; i < unused.size() && !room_.HasFor(wanted.row_bytes()); ++i) {
    Queue(unused[i], *rows_.Find(unused[i]));
    Drop(unused[i]);
  }
  return room_.HasFor(wanted.row_bytes());
}

AnnouncedUse WorkerReplicas::UseOf(TableKey row, const Row& known) const {
  const IntentBook::Touches touches = announced_.TouchesOf(row);
  AnnouncedUse use{.has_copy = static_cast<uint16_t>(known.has_copy() ? 1 : 0)};
  if (touches.most() == 0 || touches.end <= at_.clock) return use;
  if (!known.has_copy() && !room_.HasFor(tables_.at(row.table).row_bytes()))
    return use;  // the home would give it again and again
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

// First the entry, then the copy that it names.
void WorkerReplicas::PrefetchAhead(TableId table, std::span<const Key> keys, size_t i) const {
  if (i + kPrefetchDistance < keys.size()) rows_.PrefetchEntry({table, keys[i + kPrefetchDistance]});
  if (i + kPrefetchDistance / 2 >= keys.size()) return;
  const Row* const next = rows_.Find({table, keys[i + kPrefetchDistance / 2]});
  if (next != nullptr && next->has_copy()) tables_.at(table).Prefetch(next->place);
}

WorkerReplicas::Share WorkerReplicas::ShareWithCopies(TableId table, std::span<const Key> keys) const {
  if (!has_copies() || keys.empty()) return Share::kNone;
  const bool first = HasCopy({table, keys.front()});
  for (size_t i = 0; i < keys.size(); ++i) {
    PrefetchAhead(table, keys, i);
    if (HasCopy({table, keys[i]}) != first) return Share::kSome;
  }
  return first ? Share::kAll : Share::kNone;
}

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

void WorkerReplicas::Push(TableId table, std::span<const Key> keys, std::span<const float> gradients, uint64_t step,
                          std::span<const uint32_t> places) {
  HeldRows& copies = tables_.at(table);
  const size_t dim = routes_.Find(table)->options.dim;
  for (size_t i = 0; i < keys.size(); ++i) {
    PrefetchAhead(table, keys, i);
    const Row& known = *rows_.Find({table, keys[i]});
    const size_t place = places.empty() ? i : places[i];
    if (!copies.Push(known.place, gradients.subspan(place * dim, dim), step)) continue;
    OpenFor(homes_[HomeOf(keys[i])], table).keys.push_back(keys[i]);
  }
}

}  // namespace attune::ps
