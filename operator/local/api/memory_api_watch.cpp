// Watches of the embedded API. A watch is a cursor into its kind's history, so a slow reader costs no memory: it finds
// its place expired and lists again, as with a real server.
#include <algorithm>
#include <charconv>

#include "base/mutex.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/api/memory_api_internal.h"

namespace attune::local {

using kube::Json;
using kube::WatchSignal;

namespace {

// How often the delivering thread looks at the time for ends and bookmarks of quiet watches.
constexpr std::chrono::milliseconds kTimeCheckInterval{100};

}  // namespace

struct MemoryApi::WatchState {
  // Constant after construction.
  Store* store = nullptr;
  Selection selection;
  std::function<void(WatchSignal)> on_signal;
  MonotonicTime end;

  // Guarded by the API's mutex, which this state does not know.
  std::deque<ObjectPointer> initial;  // state to report first
  uint64_t cursor = 0;                // changes up to this version are reported
  MonotonicTime next_bookmark;
  bool finished = false;

  Mutex mutex;  // never held while taking the API's mutex
  CondVar idle;
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
  bool delivering ABSL_GUARDED_BY(mutex) = false;
  std::thread::id deliverer ABSL_GUARDED_BY(mutex);
};

// Holds the state, not the API: a handle may outlive the API.
class MemoryApi::WatchHandle final : public kube::Watch {
 public:
  explicit WatchHandle(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  ~WatchHandle() override {
    const MutexLock lock(state_->mutex);
    state_->cancelled = true;
    if (state_->delivering && state_->deliverer == std::this_thread::get_id()) return;  // from inside its own handler
    while (state_->delivering) state_->idle.Wait(state_->mutex);
  }

 private:
  std::shared_ptr<WatchState> state_;
};

StatusOr<std::unique_ptr<kube::Watch>> MemoryApi::StartWatch(const kube::ResourceType& type,
                                                             const kube::WatchOptions& options,
                                                             std::function<void(WatchSignal)> on_signal) {
  if (options.initial_events) {
    return Error(StatusCode::kUnimplemented, "watches with initial events are not supported; list, then watch");
  }
  auto state = std::make_shared<WatchState>();
  ASSIGN_OR_RETURN(state->selection,
                   Selection::Parse(options.name_space, options.label_selector, options.field_selector));
  state->on_signal = std::move(on_signal);
  const std::string& text = options.resource_version;
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), state->cursor);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error(StatusCode::kInvalidArgument,
                   "resourceVersion: Invalid value: \"" + text + "\": must be a number from an earlier answer");
    }
  }
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(state->store, FindStore(type));
  std::erase_if(watches_, [](const auto& watch) {
    const MutexLock watch_lock(watch->mutex);
    return watch->cancelled || watch->finished;
  });
  if (watches_.size() >= options_.watches_max) {
    return Error(StatusCode::kUnavailable,
                 "there are " + std::to_string(watches_.size()) + " watches already; close some, or try later");
  }
  if (state->cursor == 0) {
    for (const auto& [key, object] : state->store->objects) {
      if (state->selection.Matches(*object)) state->initial.push_back(object);
    }
    state->cursor = version_;
  }
  const MonotonicTime now = time_.Now();
  state->end = now + options.server_timeout;
  state->next_bookmark = now + options_.bookmark_interval;
  watches_.push_back(state);
  undelivered_ = true;
  changed_.NotifyAll();
  return std::make_unique<WatchHandle>(state);
}

bool MemoryApi::NextSignal(WatchState& watch, PendingSignal& signal) {
  if (watch.finished) return false;
  if (!watch.initial.empty()) {
    signal = {WatchSignal::Kind::kAdded, watch.initial.front(), {}};
    watch.initial.pop_front();
    return true;
  }
  if (watch.cursor < watch.store->expired_version) {
    watch.finished = true;
    signal = {WatchSignal::Kind::kError, nullptr,
              Error(StatusCode::kOutOfRange, "too old resource version: " + std::to_string(watch.cursor) + " (" +
                                                 std::to_string(watch.store->expired_version) + "); list again")};
    return true;
  }
  const auto& history = watch.store->history;
  auto at = std::upper_bound(history.begin(), history.end(), watch.cursor,
                             [](uint64_t version, const Change& change) { return version < change.version; });
  for (; at != history.end(); ++at) {
    watch.cursor = at->version;
    const bool was = at->previous != nullptr && watch.selection.Matches(*at->previous);
    const bool is = at->kind != WatchSignal::Kind::kDeleted && watch.selection.Matches(*at->object);
    if (!was && !is) continue;
    signal = {!is   ? WatchSignal::Kind::kDeleted
              : was ? WatchSignal::Kind::kModified
                    : WatchSignal::Kind::kAdded,
              at->object,
              {}};
    return true;
  }
  watch.cursor = std::max(watch.cursor, version_);
  const MonotonicTime now = time_.Now();
  if (now >= watch.end) {
    watch.finished = true;
    signal = {WatchSignal::Kind::kEnded, nullptr, {}};
    return true;
  }
  if (now < watch.next_bookmark) return false;
  watch.next_bookmark = now + options_.bookmark_interval;
  const KindInfo& info = *watch.store->info;
  signal = {WatchSignal::Kind::kBookmark,
            std::make_shared<const Json>(Json{{"apiVersion", info.type.api_version()},
                                              {"kind", info.type.kind},
                                              {"metadata", {{"resourceVersion", std::to_string(watch.cursor)}}}}),
            {}};
  return true;
}

bool MemoryApi::DeliverNext(const std::shared_ptr<WatchState>& watch) {
  PendingSignal pending;
  {
    const MutexLock lock(mutex_);
    if (stopping_ || !NextSignal(*watch, pending)) return false;
  }
  {
    const MutexLock lock(watch->mutex);
    if (watch->cancelled) return false;
    watch->delivering = true;
    watch->deliverer = std::this_thread::get_id();
  }
  watch->on_signal({pending.kind, pending.object == nullptr ? Json() : *pending.object, pending.status});
  const MutexLock lock(watch->mutex);
  watch->delivering = false;
  watch->idle.NotifyAll();
  return !watch->cancelled;
}

// One signal per watch and round, so that a busy one does not hold up the others. True when anything was sent.
bool MemoryApi::DeliverAll() {
  std::vector<std::shared_ptr<WatchState>> watches;
  {
    const MutexLock lock(mutex_);
    undelivered_ = false;
    std::erase_if(watches_, [](const auto& watch) {
      const MutexLock watch_lock(watch->mutex);
      return watch->cancelled || watch->finished;
    });
    watches = watches_;
  }
  bool sent = false;
  for (const auto& watch : watches) sent = DeliverNext(watch) || sent;
  return sent;
}

void MemoryApi::DeliverSignals() {
  while (DeliverAll()) {
  }
}

void MemoryApi::DeliverLoop() {
  while (true) {
    DeliverSignals();
    const MutexLock lock(mutex_);
    const auto awake = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || undelivered_; };
    if (watches_.empty()) {
      changed_.Wait(mutex_, awake);
    } else {
      changed_.WaitFor(mutex_, kTimeCheckInterval, awake);
    }
    if (stopping_) return;
  }
}

void MemoryApi::ExpireHistory() {
  const MutexLock lock(mutex_);
  for (auto& [name, store] : stores_) {
    store.expired_version = version_;
    store.history.clear();
  }
  undelivered_ = true;
  changed_.NotifyAll();
}

}  // namespace attune::local
