// Rows that the program has announced: fetched before it pulls them, and read from here when it does.
#include <algorithm>
#include <map>
#include <utility>

#include "ps/core/worker/worker_rows.h"

namespace attune::ps {

void WorkerRows::Intend(const IntendCall& call, const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  const IntentBook::Added added =
      announced_.Add(call.table, call.keys, call.begin, call.end, call.access, call.age_max, at);
  accesses_.late += added.late;
  accesses_.refused += added.refused;
  FetchDue(at, now, out);
}

void WorkerRows::StepBegan(const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  announced_.StepBegan(now);
  if (!announced_.empty()) FetchDue(at, now, out);
}

void WorkerRows::FetchDue(const StepPoint& at, MonotonicTime now, WorkerOutputs& out) {
  for (auto& [table, keys] : announced_.Due(at)) Fetch(table, std::move(keys), at, now, out);
}

void WorkerRows::Fetch(TableId table, std::vector<Key> keys, const StepPoint& at, MonotonicTime now,
                       WorkerOutputs& out) {
  const auto spec = tables_.find(table);
  const std::optional<Duration> age_max = announced_.AgeMaxOf(table);
  if (spec == tables_.end() || !age_max) return;
  const TableStore* const store = own_.StoreOf(table);
  if (store != nullptr) std::erase_if(keys, [&](Key key) { return store->Contains(key); });
  const uint32_t dim = spec->second.options.dim;
  const size_t messages = pulls_.in_flight() + keys.size() / KeysPerMessage(dim) + cluster_.servers().size();
  if (keys.empty() || messages > kPullsInFlightMax) return;
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
  WakeBy(call.deadline);
  PullAll(call, dim, now, out);
  pulls_.Added(fetch, out.completions);
}

void WorkerRows::TakeFetches(MonotonicTime now, WorkerOutputs& out) {
  if (prefetched_.coming() == 0) return;
  std::vector<Completion> ended;
  std::erase_if(out.completions, [&](Completion& completion) {
    if (!PrefetchedRows::IsFetch(completion.call)) return false;
    ended.push_back(std::move(completion));
    return true;
  });
  for (const Completion& fetch : ended) {
    if (!fetch.status.ok()) {
      FetchFailed(fetch.call, now, out);
      continue;
    }
    const MonotonicTime asked =
        prefetched_.Arrived(fetch.call, [&](const PrefetchedRows::Waiter& waiter, std::span<const float> row) {
          pulls_.Fill(waiter.call, waiter.place, row, out.completions);
        });
    announced_.Fetched(now - asked);
  }
}

// What has been waited for is asked for in the usual way, with the time that its call has left.
void WorkerRows::FetchFailed(CallId fetch, MonotonicTime now, WorkerOutputs& out) {
  const PrefetchedRows::Block block = prefetched_.Failed(fetch);
  std::map<CallId, std::map<uint32_t, Key>> calls;  // with the places of each, which ascend
  for (const PrefetchedRows::Waiter& waiter : block.waiters) {
    if (pulls_.Contains(waiter.call)) calls[waiter.call][waiter.place] = block.keys[waiter.at];
  }
  for (const auto& [call, rows] : calls) {
    std::vector<Key> keys;
    std::vector<uint32_t> places;
    for (const auto& [place, key] : rows) {
      places.push_back(place);
      keys.push_back(key);
    }
    PullCalls::Part part{
        .call = call,
        .to = cluster_.map().HomeOf(keys.front()),
        .table = block.table,
        .dim = block.dim,
        .keys = Slice<Key>::Filled(keys.size(), [&](std::span<Key> to) { std::ranges::copy(keys, to.begin()); }),
        .places = places,
        .after = {}};
    pushes_.FindOpenOf(block.table, part.keys.view(), part.after);
    WakeBy(pulls_.Add(std::move(part), PullSender(now), PullsTo(now, out)));
    for (size_t i = 0; i < places.size(); ++i) pulls_.Release(call, out.completions);
  }
}

std::vector<uint32_t> WorkerRows::TakeFetched(const PullCall& call, const StepPoint& at, MonotonicTime now) {
  const TableStore* const store = own_.StoreOf(call.table);
  const uint64_t floor_needed = at.mode.FloorNeeded(at.step);
  std::vector<uint32_t> others;
  for (uint32_t place = 0; place < call.keys.size(); ++place) {
    const TableKey row{call.table, call.keys[place]};
    std::span<const float> values;
    PrefetchedRows::Found found = PrefetchedRows::Found::kNot;
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

bool WorkerRows::PullNear(TableId table, std::span<const Key> keys, std::span<float> rows, const StepPoint& at,
                          MonotonicTime now) {
  const auto spec = tables_.find(table);
  if (spec == tables_.end() || keys.size() > kKeysPerCallMax) return false;
  const uint32_t dim = spec->second.options.dim;
  if (rows.size() != keys.size() * dim) return false;
  const TableStore* const store = own_.StoreOf(table);
  const uint64_t floor_needed = at.mode.FloorNeeded(at.step);
  RowAccesses here;
  for (size_t i = 0; i < keys.size(); ++i) {
    const TableKey row{table, keys[i]};
    const std::span<float> to = rows.subspan(i * dim, dim);
    std::span<const float> values;
    if (store != nullptr && !pushes_.AnyOpenOf(table, {&row.key, 1}) && store->PullIfPresent({&row.key, 1}, to)) {
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

void WorkerRows::ReadOtherwise(TableId table, std::span<const Key> keys) {
  if (prefetched_.empty() || options_.mutations.fetched_row_after_read) return;
  for (const Key key : keys) prefetched_.Drop({table, key});
}

void WorkerRows::PushedTo(TableId table, std::span<const Key> keys, const StepPoint& at) {
  if (prefetched_.empty() || options_.mutations.fetched_row_after_push) return;
  for (const Key key : keys) {
    if (prefetched_.Drop({table, key})) announced_.Lost({table, key}, at);
  }
}

}  // namespace attune::ps
