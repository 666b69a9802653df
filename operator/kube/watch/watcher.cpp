#include "operator/kube/watch/watcher.h"

#include <algorithm>

#include "operator/kube/client/api_error.h"

namespace attune::kube {

Watcher::Watcher(WatcherOptions options, uint64_t seed) : options_(options), random_(seed) {}

WatcherOutput Watcher::OnTime(MonotonicTime now) {
  if (now < wake_at_ || state_ == State::kListing) return {};
  if (state_ == State::kPausing) return list_next_ ? List() : Watch(now);
  ++counts_.silences;
  return List();
}

WatcherOutput Watcher::OnListed(StatusOr<ListResult> list, MonotonicTime now) {
  if (state_ != State::kListing) return {};
  if (!list.ok()) return Pause(/*then_list=*/true, list.status(), now);
  resource_version_ = std::move(list->resource_version);
  heard_at_ = now;
  WatcherOutput output = Watch(now);
  output.events.push_back({WatchEvent::Kind::kReplaced, std::move(list->items)});
  return output;
}

WatcherOutput Watcher::OnSignal(WatchSignal signal, MonotonicTime now) {
  if (state_ != State::kWatching) return {};
  using Kind = WatchSignal::Kind;
  switch (signal.kind) {
    case Kind::kAdded:
    case Kind::kModified:
    case Kind::kDeleted:
    case Kind::kBookmark:
      return OnChange(std::move(signal), now);
    case Kind::kError:
      return OnError(signal.status, now);
    case Kind::kEnded:
    case Kind::kBroken:
      break;
  }
  // A watch that reported something and ended is the normal course; one that reported nothing must not be repeated in a
  // tight loop.
  if (heard_in_this_watch_) return Watch(now);
  return Pause(/*then_list=*/false, signal.status, now);
}

WatcherOutput Watcher::OnChange(WatchSignal signal, MonotonicTime now) {
  using Kind = WatchSignal::Kind;
  // Without a version there is no place to resume from.
  if (ResourceVersion(signal.object).empty()) return Pause(/*then_list=*/true, OkStatus(), now);
  Heard(signal.object, now);
  if (signal.kind == Kind::kBookmark) return {};
  WatchEvent event{signal.kind == Kind::kDeleted ? WatchEvent::Kind::kDeleted : WatchEvent::Kind::kApplied, {}};
  event.objects.push_back(std::move(signal.object));
  WatcherOutput output;
  output.events.push_back(std::move(event));
  return output;
}

WatcherOutput Watcher::OnError(const Status& status, MonotonicTime now) {
  switch (status.code()) {
    case StatusCode::kOutOfRange:
      ++counts_.expired;
      // At once the first time; a server whose fresh lists expire too is not to be flooded.
      if (failures_ > 0) return Pause(/*then_list=*/true, status, now);
      ++failures_;
      return List();
    case StatusCode::kInvalidArgument:  // a version from before the server's data was replaced
    case StatusCode::kNotFound:         // the kind was removed: listing shows when it is back
      return Pause(/*then_list=*/true, status, now);
    default:
      return Pause(/*then_list=*/false, status, now);
  }
}

void Watcher::Heard(const Json& object, MonotonicTime now) {
  resource_version_ = ResourceVersion(object);
  heard_at_ = now;
  heard_in_this_watch_ = true;
  failures_ = 0;
  wake_at_ = now + options_.silence_max;
}

WatcherOutput Watcher::List() {
  ++counts_.lists;
  state_ = State::kListing;
  wake_at_ = kNever;
  WatcherOutput output;
  output.command.kind = WatchCommand::Kind::kList;
  return output;
}

WatcherOutput Watcher::Watch(MonotonicTime now) {
  ++counts_.watches;
  state_ = State::kWatching;
  heard_in_this_watch_ = false;
  // Silence is counted across watches: resuming again and again does not make a stalled version deliver.
  wake_at_ = std::max(now, heard_at_ + options_.silence_max);
  WatcherOutput output;
  output.command.kind = WatchCommand::Kind::kWatch;
  output.command.resource_version = resource_version_;
  auto spread = static_cast<double>((options_.watch_max - options_.watch_min).count());
  output.command.server_timeout = options_.watch_min + Duration(static_cast<int64_t>(spread * random_.Uniform()));
  return output;
}

WatcherOutput Watcher::Pause(bool then_list, const Status& status, MonotonicTime now) {
  ++counts_.failures;
  ++failures_;
  Duration pause = BackoffDelay(options_.backoff, failures_, random_.Uniform());
  if (std::optional<Duration> asked = RetryAfter(status)) pause = std::max(pause, *asked);
  state_ = State::kPausing;
  list_next_ = then_list || now - heard_at_ >= options_.silence_max;
  wake_at_ = now + pause;
  return {};
}

}  // namespace attune::kube
