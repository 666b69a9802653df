// List-and-watch as a state machine: it decides when to list, from which version to watch, and what the cache learns;
// the Reflector carries it out. Pure: time is an argument, randomness a seed.
//
//            list ok             end, lost connection, refusal: from the last version, after a pause when nothing came
//   Listing ---------> Watching <--------------------------------------------.
//      ^  \ failed       ^ | expired version, or silent for too long         |
//      |   v   all there | v                                                 |
//      `-- Pausing <-----|-+-------------------------------------------------'
//              `---> Streaming
//
// Streaming takes the place of Listing where the server can: a watch that begins with all there is, which costs the
// server a fraction of the memory of a list and has no pages that expire. Where it refuses, sends more than is held
// here, or does not say that all is there, it is not tried again.
//
// Sources: the habits of kube-rs' watcher and client-go's reflector; what API servers were seen to do stands
// beside each rule.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time_source.h"
#include "operator/kube/api.h"
#include "operator/kube/watch/work_queue.h"

namespace attune::kube {

struct WatcherOptions {
  BackoffOptions backoff{.first = std::chrono::milliseconds(500), .max = std::chrono::seconds(30), .jitter = 0.5};
  // Servers send a bookmark every 60 s. A watch silent for two of them is stalled: one from a version the server has
  // not reached yet is accepted and says nothing.
  Duration silence_max = std::chrono::seconds(150);
  // The server ends a watch after a time drawn from this range, so that many watchers do not come back together.
  Duration watch_min = std::chrono::seconds(240);
  Duration watch_max = std::chrono::seconds(300);
  bool streams = true;                             // instead of lists, where the server can
  Duration stream_max = std::chrono::seconds(60);  // until everything is there
  size_t stream_objects_max = 200'000;
};

// What the cache learns.
struct WatchEvent {
  enum class Kind {
    kReplaced,  // `objects` are all there is: swap, what is missing has been deleted
    kApplied,   // objects[0] is new or changed
    kDeleted,   // objects[0] is gone; its last state
  };
  Kind kind;
  std::vector<Json> objects;
};

// What the shell has to do next. All end the watch in progress first.
struct WatchCommand {
  enum class Kind {
    kNone,
    kList,
    kWatch,   // for events after `resource_version`
    kStream,  // a watch with initial events
  };
  Kind kind = Kind::kNone;
  std::string resource_version;
  Duration server_timeout{};  // of kWatch and kStream
};

struct WatcherOutput {
  std::vector<WatchEvent> events;  // in order
  WatchCommand command;            // after the events
};

struct WatcherCounts {
  uint64_t lists = 0, streams = 0, watches = 0, expired = 0, failures = 0, silences = 0;
};

class Watcher {
 public:
  Watcher(WatcherOptions options, uint64_t seed);

  // Call at start and whenever wake_at() is reached.
  WatcherOutput OnTime(MonotonicTime now);
  // The answer to kList.
  WatcherOutput OnListed(StatusOr<ListResult> list, MonotonicTime now);
  // Of the watch started last. A watch that could not be started is reported as kBroken.
  WatcherOutput OnSignal(WatchSignal signal, MonotonicTime now);

  // When OnTime has something to do; kNever while a list is in progress.
  MonotonicTime wake_at() const { return wake_at_; }
  const std::string& resource_version() const { return resource_version_; }
  const WatcherCounts& counts() const { return counts_; }

 private:
  enum class State { kPausing, kListing, kStreaming, kWatching };
  // Everything there is, in the way that the server can.
  WatcherOutput Fetch(MonotonicTime now);
  WatcherOutput List();
  WatcherOutput Stream(MonotonicTime now);
  WatcherOutput OnStreamed(WatchSignal signal, MonotonicTime now);
  WatcherOutput OnStreamFailed(const Status& status, MonotonicTime now);
  WatcherOutput OnAllStreamed(const Json& bookmark, MonotonicTime now);
  WatcherOutput Watch(MonotonicTime now);
  // Continues with a list or a watch after the backoff, or after what the server asked for when that is longer.
  WatcherOutput Pause(bool then_fetch, const Status& status, MonotonicTime now);
  WatcherOutput OnChange(WatchSignal signal, MonotonicTime now);
  WatcherOutput OnError(const Status& status, MonotonicTime now);
  void Heard(const Json& object, MonotonicTime now);
  Duration DrawnTimeout();

  const WatcherOptions options_;
  Random random_;
  State state_ = State::kPausing;
  bool fetch_next_ = true;  // after the pause
  bool streams_;            // so far the server can
  std::map<ObjectKey, Json> streamed_;
  std::string resource_version_;
  MonotonicTime wake_at_{};
  MonotonicTime heard_at_{};  // last list, change or bookmark
  bool heard_in_this_watch_ = false;
  uint32_t failures_ = 0;  // in a row, without anything heard from a watch
  WatcherCounts counts_;
};

}  // namespace attune::kube
