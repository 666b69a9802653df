// How the signals of watches reach their handlers. Their cursors say what is due (watch_cursor.h).
#include <charconv>

#include "base/mutex.h"
#include "operator/local/api/memory_api.h"
#include "operator/local/api/watch_cursor.h"

namespace attune::local {

using kube::Json;
using kube::WatchSignal;

namespace {

// How often the delivering thread looks at the time for ends and bookmarks of quiet watches.
constexpr std::chrono::milliseconds kTimeCheckInterval{100};

}  // namespace

struct MemoryApi::WatchState {
  WatchState(WatchCursor at, std::function<void(WatchSignal)> handler)
      : cursor(std::move(at)), on_signal(std::move(handler)) {}

  WatchCursor cursor;  // guarded by the API's mutex, which this state does not know
  const std::function<void(WatchSignal)> on_signal;

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
  ASSIGN_OR_RETURN(Selection selection,
                   Selection::Parse(options.name_space, options.label_selector, options.field_selector));
  uint64_t from = 0;
  const std::string& text = options.resource_version;
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), from);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Error(StatusCode::kInvalidArgument,
                   "resourceVersion: Invalid value: \"" + text + "\": must be a number from an earlier answer");
    }
  }
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const StoredKind* kind, objects_.FindKind(type));
  DropEndedWatches();
  if (watches_.size() >= options_.watches_max) {
    return Error(StatusCode::kUnavailable,
                 "there are " + std::to_string(watches_.size()) + " watches already; close some, or try later");
  }
  const MonotonicTime now = time_.Now();
  WatchCursor cursor(
      *kind, std::move(selection),
      {.from = from, .end = now + options.server_timeout, .bookmark_interval = options_.bookmark_interval},
      objects_.version(), now);
  auto state = std::make_shared<WatchState>(std::move(cursor), std::move(on_signal));
  watches_.push_back(state);
  WakeDeliverer();
  return std::make_unique<WatchHandle>(std::move(state));
}

void MemoryApi::DropEndedWatches() {
  std::erase_if(watches_, [](const auto& watch) {
    const MutexLock lock(watch->mutex);
    return watch->cancelled || watch->cursor.finished();
  });
}

void MemoryApi::WakeDeliverer() {
  undelivered_ = true;
  changed_.NotifyAll();
}

bool MemoryApi::DeliverNext(const std::shared_ptr<WatchState>& watch) {
  std::optional<WatchCursor::Signal> pending;
  {
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    pending = watch->cursor.Next(objects_.version(), time_.Now());
    if (!pending) return false;
  }
  {
    const MutexLock lock(watch->mutex);
    if (watch->cancelled) return false;
    watch->delivering = true;
    watch->deliverer = std::this_thread::get_id();
  }
  watch->on_signal({pending->kind, pending->object == nullptr ? Json() : *pending->object, pending->status});
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
    DropEndedWatches();
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
  objects_.ExpireHistory();
}

}  // namespace attune::local
