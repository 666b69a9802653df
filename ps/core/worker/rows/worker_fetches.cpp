#include "ps/core/worker/rows/worker_fetches.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

WorkerFetches::WorkerFetches(const WorkerOptions& options, const OwnRows& own, const RowRoutes& routes,
                             AnnouncedRows& announced, WorkerReplicas& replicas, WorkerPulls& pulls, PushWindow& pushes)
    : options_(options),
      own_(own),
      routes_(routes),
      announced_(announced),
      replicas_(replicas),
      pulls_(pulls),
      pushes_(pushes),
      prefetched_({.bytes_max = options.fetched_bytes_max,
                   .past_age = options.mutations.fetched_row_past_age,
                   .before_floor = options.mutations.fetched_row_before_floor}) {}

// --- announcements and steps

void WorkerFetches::Intend(const IntendCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  const IntentBook::Added added =
      announced_.Add(call.table, call.keys, call.begin, call.end, call.access, call.age_max, at);
  accesses_.late += added.late;
  accesses_.refused += added.refused;
  FetchDue(at, now, out);
}

void WorkerFetches::StepBegan(const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  announced_.StepBegan(now);
  if (!announced_.empty()) FetchDue(at, now, out);
  if (!replicas_.empty()) replicas_.StepBegan(at, now, out);
}

void WorkerFetches::SetIgnored(bool ignored, MonotonicTime now, WorkerOutputs& out) {
  const bool changed = announced_.SetIgnored(ignored);
  if (changed && ignored) replicas_.GiveUp(WorkerReplicas::Because::kIgnored, now, out);
}

void WorkerFetches::FetchDue(const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  AnnouncedRows::News news = announced_.Advance(at);
  replicas_.Take(news, at);
  if (!options_.mutations.unannounced_row_may_be_old) {
    for (const TableKey row : news.ended) prefetched_.Drop(row);  // who reads it now has not announced that
  }
  for (auto& [table, keys] : news.due) Fetch(table, std::move(keys), at, now, out);
}

void WorkerFetches::Fetch(TableId table, std::vector<Key> keys, const StepPoint& at, MonotonicTime now,
                          WorkerOutputs& out) {
  const TableSpec* const spec = routes_.Find(table);
  const std::optional<Duration> age_max = announced_.AgeMaxOf(table);
  if (spec == nullptr || !age_max) return;
  const TableStore* const store = own_.StoreOf(table);
  if (store != nullptr) std::erase_if(keys, [&](Key key) { return store->Contains(key); });
  if (replicas_.has_copies()) std::erase_if(keys, [&](Key key) { return replicas_.HasCopy({table, key}); });
  const uint32_t dim = spec->options.dim;
  if (keys.empty() || !pulls_.HasRoomFor(keys.size(), dim)) return;
  if (!prefetched_.HasRoom(keys.size(), dim)) {
    accesses_.refused += keys.size();
    return;
  }
  const auto [fetch, rows] = prefetched_.Begin(table, dim, keys, {.at = now, .age_max = *age_max, .floor = at.floor});
  if (keys.empty()) return;
  const PullCall call{.call = fetch,
                      .deadline = now + options_.fetch_timeout,
                      .table = table,
                      .keys = Slice<Key>(nullptr, keys),
                      .rows = rows};
  pulls_.Begin(call, /*in_place=*/false);
  pulls_.AskAll(call, now, out);
}

void WorkerFetches::TakeEnded(MonotonicTime now, WorkerOutputs& out) {
  if (prefetched_.coming() == 0) return;
  std::vector<Completion> ended;
  std::erase_if(out.completions, [&](Completion& completion) {
    if (!PrefetchedRows::IsFetch(completion.call)) return false;
    ended.push_back(std::move(completion));
    return true;
  });
  for (const Completion& fetch : ended) {
    if (!fetch.status.ok()) {
      Failed(fetch.call, now, out);
      continue;
    }
    const MonotonicTime asked = prefetched_.Arrived(
        fetch.call, now, [&](const PrefetchedRows::Waiter& waiter, TableKey key, std::span<const float> row) {
          pulls_.Fill(waiter.call, waiter.place, row, out);
          replicas_.UsedElsewhere(key);
        });
    announced_.Fetched(now - asked);
  }
}

// What has been waited for is asked for in the usual way.
void WorkerFetches::Failed(CallId fetch, MonotonicTime now, WorkerOutputs& out) {
  const PrefetchedRows::Block block = prefetched_.Failed(fetch);
  std::map<CallId, std::map<uint32_t, Key>> calls;  // with the places of each, which ascend
  for (const PrefetchedRows::Waiter& waiter : block.waiters) calls[waiter.call][waiter.place] = block.keys[waiter.at];
  for (const auto& [call, rows] : calls) pulls_.AskInstead(call, block.table, block.dim, rows, now, out);
}

// --- what is read

std::vector<uint32_t> WorkerFetches::Take(const PullCall& call, const StepPoint& at, MonotonicTime now,
                                          WorkerOutputs& out) {
  const TableStore* const store = own_.StoreOf(call.table);
  const uint64_t floor_needed = at.mode.FloorNeeded(at.step);
  std::vector<uint32_t> others;
  for (uint32_t place = 0; place < call.keys.size(); ++place) {
    replicas_.PrefetchAhead(call.table, call.keys.view(), place);
    const TableKey row{call.table, call.keys[place]};
    std::span<const float> values;
    PrefetchedRows::Found found = PrefetchedRows::Found::kNot;
    if (TakeCopy(row, call, place, at, now, out)) continue;
    if (store != nullptr && store->Contains(row.key)) {
      prefetched_.Drop(row);
    } else {
      found = prefetched_.Find(row, now, floor_needed, values);
    }
    switch (found) {
      case PrefetchedRows::Found::kHere:
        std::ranges::copy(values, &call.rows[place * values.size()]);
        ++accesses_.fetched;
        break;
      case PrefetchedRows::Found::kComing:
        prefetched_.Wait(row, call.call, place);
        pulls_.Hold(call.call);
        ++accesses_.waited;
        break;
      case PrefetchedRows::Found::kNot:
        others.push_back(place);
    }
  }
  return others;
}

// False: there is no copy.
bool WorkerFetches::TakeCopy(TableKey row, const PullCall& call, uint32_t place, const StepPoint& at, MonotonicTime now,
                             WorkerOutputs& out) {
  if (replicas_.empty()) return false;
  std::span<const float> values;
  switch (replicas_.Read(row, at, now, values)) {
    case WorkerReplicas::Found::kNone:
      return false;
    case WorkerReplicas::Found::kHere:
      std::ranges::copy(values, &call.rows[place * values.size()]);
      ++accesses_.replicated;
      return true;
    case WorkerReplicas::Found::kAsked:
      if (prefetched_.WasHere(row, replicas_.AskedAt(row))) return false;
      [[fallthrough]];
    case WorkerReplicas::Found::kNotYet:
      pulls_.Hold(call.call);
      replicas_.Wait(row, call.call, place, at, now, out);
      ++accesses_.waited;
      return true;
  }
  return false;
}

bool WorkerFetches::PullHere(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at,
                             MonotonicTime now, CopyReads copies) {
  const TableSpec* const spec = routes_.Find(table);
  if (spec == nullptr || keys.size() > kKeysPerCallMax) return false;
  const uint32_t dim = spec->options.dim;
  if (rows.size() != keys.size() * dim) return false;
  const TableStore* const store = own_.StoreOf(table);
  const uint64_t floor_needed = at.mode.FloorNeeded(at.step);
  RowAccesses here;
  for (size_t i = 0; i < keys.size(); ++i) {
    replicas_.PrefetchAhead(table, keys, i);
    if (i + kPrefetchDistance < keys.size()) prefetched_.PrefetchEntry({table, keys[i + kPrefetchDistance]});
    const TableKey row{table, keys[i]};
    const std::span<float> to = rows.subspan(i * dim, dim);
    std::span<const float> values;
    // A copy first: what was pushed to it may not have reached the row yet, should that have come to this worker.
    const auto found = replicas_.Read(row, at, now, values, copies);
    if (found == WorkerReplicas::Found::kNotYet) return false;
    if (found == WorkerReplicas::Found::kAsked && !prefetched_.WasHere(row, replicas_.AskedAt(row))) return false;
    if (found == WorkerReplicas::Found::kHere) {
      std::ranges::copy(values, to.begin());
      ++here.replicated;
    } else if (found == WorkerReplicas::Found::kNone && store != nullptr && !pushes_.AnyOpenOf(table, {&row.key, 1}) &&
               store->PullIfPresent({&row.key, 1}, to)) {
      prefetched_.Drop(row);
      ++here.owned;
    } else if (prefetched_.Find(row, now, floor_needed, values) == PrefetchedRows::Found::kHere) {
      std::ranges::copy(values, to.begin());
      ++here.fetched;
    } else {
      return false;
    }
  }
  accesses_ += here;
  return true;
}

void WorkerFetches::ReadOtherwise(TableId table, std::span<const Key> keys) {
  if (prefetched_.empty() || options_.mutations.fetched_row_after_read) return;
  for (const Key key : keys) prefetched_.Drop({table, key});
}

void WorkerFetches::LostCopies(std::span<const TableKey> rows) {
  for (const TableKey row : rows) announced_.LostEarly(row);
}

void WorkerFetches::PushedTo(TableId table, std::span<const Key> keys, const StepPoint& at) {
  if (prefetched_.empty() || options_.mutations.fetched_row_after_push) return;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kPrefetchDistance < keys.size()) prefetched_.PrefetchEntry({table, keys[i + kPrefetchDistance]});
    if (prefetched_.Drop({table, keys[i]})) announced_.Lost({table, keys[i]}, at);
  }
}

}  // namespace attune::ps
