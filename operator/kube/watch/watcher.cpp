#include "operator/kube/watch/watcher.h"

#include <algorithm>

#include "operator/kube/client/api_error.h"

namespace attune::kube {
namespace {

constexpr uint32_t kStreamFailuresMax = 2;  // in a row

}  // namespace

Watcher::Watcher(WatcherOptions options, uint64_t seed) : options_(options), random_(seed), streams_(options.streams) {}

WatcherOutput Watcher::OnTime(MonotonicTime now) {
  if (now < wake_at_ || state_ == State::kListing) return {};
  if (state_ == State::kPausing) return fetch_next_ ? Fetch(now) : Watch(now);
  if (state_ == State::kStreaming) return OnStreamFailed(Error(StatusCode::kUnimplemented, "no end"), now);
  ++counts_.silences;
  return Fetch(now);
}

WatcherOutput Watcher::OnListed(StatusOr<ListResult> list, MonotonicTime now) {
  if (state_ != State::kListing) return {};
  if (!list.ok()) return Pause(/*then_fetch=*/true, list.status(), now);
  resource_version_ = std::move(list->resource_version);
  heard_at_ = now;
  WatcherOutput output = Watch(now);
  output.events.push_back({WatchEvent::Kind::kReplaced, std::move(list->items)});
  return output;
}

WatcherOutput Watcher::OnSignal(WatchSignal signal, MonotonicTime now) {
  if (state_ == State::kStreaming) return OnStreamed(std::move(signal), now);
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
  return Pause(/*then_fetch=*/false, signal.status, now);
}

WatcherOutput Watcher::OnChange(WatchSignal signal, MonotonicTime now) {
  using Kind = WatchSignal::Kind;
  // Without a version there is no place to resume from.
  if (ResourceVersion(signal.object).empty()) return Pause(/*then_fetch=*/true, OkStatus(), now);
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
      if (failures_ > 0) return Pause(/*then_fetch=*/true, status, now);
      ++failures_;
      return Fetch(now);
    case StatusCode::kInvalidArgument:  // a version from before the server's data was replaced
    case StatusCode::kNotFound:         // the kind was removed: listing shows when it is back
      return Pause(/*then_fetch=*/true, status, now);
    default:
      return Pause(/*then_fetch=*/false, status, now);
  }
}

void Watcher::Heard(const Json& object, MonotonicTime now) {
  resource_version_ = ResourceVersion(object);
  heard_at_ = now;
  heard_in_this_watch_ = true;
  failures_ = 0;
  wake_at_ = now + options_.silence_max;
}

WatcherOutput Watcher::Fetch(MonotonicTime now) {
  // Where streams break again and again, behind a proxy for instance, lists may still come through.
  return streams_ && failures_ < kStreamFailuresMax ? Stream(now) : List();
}

WatcherOutput Watcher::Stream(MonotonicTime now) {
  ++counts_.streams;
  state_ = State::kStreaming;
  streamed_.clear();
  wake_at_ = now + options_.stream_max;
  WatcherOutput output;
  output.command.kind = WatchCommand::Kind::kStream;
  output.command.server_timeout = DrawnTimeout();
  return output;
}

WatcherOutput Watcher::OnStreamed(WatchSignal signal, MonotonicTime now) {
  using Kind = WatchSignal::Kind;
  switch (signal.kind) {
    case Kind::kAdded:
    case Kind::kModified:
      if (streamed_.size() >= options_.stream_objects_max && !streamed_.contains(KeyOf(signal.object))) {
        return OnStreamFailed(Error(StatusCode::kResourceExhausted, "too many objects"), now);
      }
      streamed_.insert_or_assign(KeyOf(signal.object), std::move(signal.object));
      return {};
    case Kind::kDeleted:
      streamed_.erase(KeyOf(signal.object));
      return {};
    case Kind::kBookmark:
      return EndsInitialEvents(signal.object) ? OnAllStreamed(signal.object, now) : WatcherOutput();
    case Kind::kError:
    case Kind::kEnded:
    case Kind::kBroken:
      break;
  }
  return OnStreamFailed(signal.status, now);
}

WatcherOutput Watcher::OnStreamFailed(const Status& status, MonotonicTime now) {
  streamed_.clear();
  switch (status.code()) {
    case StatusCode::kInvalidArgument:  // servers refuse parameters that they do not know with 400 or 422
    case StatusCode::kUnimplemented:
    case StatusCode::kResourceExhausted:  // more at once than is held here; a list comes in pages
      streams_ = false;
      return List();
    default:
      return Pause(/*then_fetch=*/true, status, now);
  }
}

WatcherOutput Watcher::OnAllStreamed(const Json& bookmark, MonotonicTime now) {
  if (ResourceVersion(bookmark).empty()) return OnStreamFailed(Error(StatusCode::kUnimplemented, "no version"), now);
  state_ = State::kWatching;
  Heard(bookmark, now);
  WatchEvent event{WatchEvent::Kind::kReplaced, {}};
  for (auto& [key, object] : streamed_) event.objects.push_back(std::move(object));
  streamed_.clear();
  WatcherOutput output;
  output.events.push_back(std::move(event));
  return output;
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
  output.command.server_timeout = DrawnTimeout();
  return output;
}

Duration Watcher::DrawnTimeout() {
  auto spread = static_cast<double>((options_.watch_max - options_.watch_min).count());
  return options_.watch_min + Duration(static_cast<int64_t>(spread * random_.Uniform()));
}

WatcherOutput Watcher::Pause(bool then_fetch, const Status& status, MonotonicTime now) {
  ++counts_.failures;
  ++failures_;
  Duration pause = BackoffDelay(options_.backoff, failures_, random_.Uniform());
  if (std::optional<Duration> asked = RetryAfter(status)) pause = std::max(pause, *asked);
  state_ = State::kPausing;
  fetch_next_ = then_fetch || now - heard_at_ >= options_.silence_max;
  wake_at_ = now + pause;
  return {};
}

}  // namespace attune::kube
