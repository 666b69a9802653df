#include "operator/local/api/watch_cursor.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace attune::local {

using kube::Json;
using kube::WatchSignal;

WatchCursor::WatchCursor(const StoredKind& kind, Selection selection, const Options& options, uint64_t newest,
                         MonotonicTime now)
    : kind_(kind),
      selection_(std::move(selection)),
      end_(options.end),
      bookmark_interval_(options.bookmark_interval),
      reported_(options.from),
      next_bookmark_(now + options.bookmark_interval) {
  if (reported_ != 0) return;
  for (const auto& [key, object] : kind.objects()) {
    if (selection_.Matches(*object)) initial_.push_back(object);
  }
  reported_ = newest;
}

std::optional<WatchCursor::Signal> WatchCursor::Next(uint64_t newest, MonotonicTime now) {
  if (finished_) return std::nullopt;
  if (!initial_.empty()) {
    Signal signal{WatchSignal::Kind::kAdded, initial_.front(), {}};
    initial_.pop_front();
    return signal;
  }
  if (reported_ < kind_.expired_version()) {
    finished_ = true;
    return Signal{WatchSignal::Kind::kError, nullptr,
                  Error(StatusCode::kOutOfRange, "too old resource version: " + std::to_string(reported_) + " (" +
                                                     std::to_string(kind_.expired_version()) + "); list again")};
  }
  if (std::optional<Signal> change = NextChange()) return change;
  reported_ = std::max(reported_, newest);
  if (now >= end_) {
    finished_ = true;
    return Signal{WatchSignal::Kind::kEnded, nullptr, {}};
  }
  if (now < next_bookmark_) return std::nullopt;
  next_bookmark_ = now + bookmark_interval_;
  return Bookmark();
}

std::optional<WatchCursor::Signal> WatchCursor::NextChange() {
  const std::deque<ObjectChange>& history = kind_.history();
  auto at = std::upper_bound(history.begin(), history.end(), reported_,
                             [](uint64_t version, const ObjectChange& change) { return version < change.version; });
  for (; at != history.end(); ++at) {
    reported_ = at->version;
    const bool was = at->previous != nullptr && selection_.Matches(*at->previous);
    const bool is = at->kind != WatchSignal::Kind::kDeleted && selection_.Matches(*at->object);
    if (!was && !is) continue;
    return Signal{!is   ? WatchSignal::Kind::kDeleted
                  : was ? WatchSignal::Kind::kModified
                        : WatchSignal::Kind::kAdded,
                  at->object,
                  {}};
  }
  return std::nullopt;
}

WatchCursor::Signal WatchCursor::Bookmark() const {
  const kube::ResourceType& type = kind_.info().type;
  return {WatchSignal::Kind::kBookmark,
          std::make_shared<const Json>(Json{{"apiVersion", type.api_version()},
                                            {"kind", type.kind},
                                            {"metadata", {{"resourceVersion", std::to_string(reported_)}}}}),
          {}};
}

}  // namespace attune::local
