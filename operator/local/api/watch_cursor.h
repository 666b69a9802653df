// How far one watch has come. It is a place in its kind's history, so a slow reader costs no memory: it finds its place
// expired and lists again, as with a real server. Pure; externally synchronized with the store.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/local/api/object_store.h"
#include "operator/local/api/rules/selectors.h"

namespace attune::local {

class WatchCursor {
 public:
  struct Options {
    uint64_t from = 0;  // changes up to this version are known; 0: none, what there is comes first
    MonotonicTime end;  // of the watch
    Duration bookmark_interval{};
  };
  struct Signal {
    kube::WatchSignal::Kind kind;
    ObjectPointer object;  // null for kError and kEnded
    Status status;         // of kError
  };

  // `kind` outlives it. `newest`: the store's version.
  WatchCursor(const StoredKind& kind, Selection selection, const Options& options, uint64_t newest, MonotonicTime now);

  // The next one that is due; nullopt: none now. After kError and kEnded there is none any more.
  std::optional<Signal> Next(uint64_t newest, MonotonicTime now);
  bool finished() const { return finished_; }

 private:
  std::optional<Signal> NextChange();
  Signal Bookmark() const;

  const StoredKind& kind_;
  const Selection selection_;
  const MonotonicTime end_;
  const Duration bookmark_interval_;
  std::deque<ObjectPointer> initial_;  // to report first
  uint64_t reported_;                  // changes up to this version
  MonotonicTime next_bookmark_;
  bool finished_ = false;
};

}  // namespace attune::local
